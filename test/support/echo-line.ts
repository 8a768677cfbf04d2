/** One run on its whole way in memory: trigger, dispatch, topic, queue, worker, stream, collect, and on to the next step. */
import type { PublishBatchCommand, SNSClient } from '@aws-sdk/client-sns';
import type { DynamoDBRecord, SQSRecord } from 'aws-lambda';
import { snsCommands, snsEvents } from '#adapters/sns-publisher.ts';
import { handle } from '#core/contract.ts';
import { dispatcher } from '#core/dispatch.ts';
import { asStep, stepItemKey } from '#core/items.ts';
import { fromInput, fromStep, type Mapping } from '#core/mapping.ts';
import { maxReceiveCount } from '#core/retry.ts';
import { workerPool } from '#runtime/worker-pool.ts';
import { aDispatch } from './examples.ts';
import { apiOn, bodyIn, echoTask, httpApi, type SentRequest, startRequest, v2 } from './http-fixtures.ts';
import { memoryLog } from './memory/log.ts';
import { memoryAnswers } from './memory/state-machines.ts';
import { memoryStore } from './memory/store.ts';
import { poolPorts, type QueueHandler, workQueue } from './pool-fixtures.ts';
import { collectOn, relayOn, streamRecord } from './stream-fixtures.ts';

/** A message as it was handed to SNS. */
export interface Sent {
  readonly body: string;
  readonly attributes: SQSRecord['messageAttributes'];
}

/** Takes every batch, as SNS does within its limits; the publisher before it is the real one. */
function fakeSns(onSent: (sent: Sent) => void): SNSClient {
  const send = async ({ input }: PublishBatchCommand) => {
    for (const { Message = '', MessageAttributes = {} } of input.PublishBatchRequestEntries ?? []) {
      const attributes = Object.entries(MessageAttributes).map(
        ([name, { StringValue = '' }]) => [name, { dataType: 'String', stringValue: StringValue }] as const,
      );
      onSent({ body: Message, attributes: Object.fromEntries(attributes) });
    }
    return {};
  };
  return { send } as unknown as SNSClient;
}

/** What a task answers. Default: its input. */
export type Answer = (input: unknown, step: string) => unknown;

export function echoLine(answer: Answer = (input) => input) {
  const records: DynamoDBRecord[] = [];
  const store = memoryStore({
    onChange: (before, after) => void records.push(streamRecord(before, after, String(records.length + 1))),
  });
  const answers = memoryAnswers();
  const queue = workQueue(maxReceiveCount(5));
  const ports = { ...poolPorts(), store, visibility: queue.visibility };
  const api = apiOn({ ...httpApi(), store, payloads: ports.payloads });
  const commands: Sent[] = [];
  const events: Sent[] = [];
  const publisher = (onSent: (sent: Sent) => void) => ({
    client: fakeSns(onSent),
    topicArn: 'arn',
    ids: ports.ids,
  });
  const topic = snsCommands(
    publisher((sent) => {
      commands.push(sent);
      queue.send(sent.body, sent.attributes);
    }),
  );
  const { dispatch } = dispatcher({ ...ports, commands: topic, answers });
  /** Inputs as the handler of each step saw them. */
  const seen = new Map<string, unknown>();
  const task = handle(echoTask, async (input, { taskId }) => {
    const step = taskId.split('/')[1] ?? '';
    seen.set(step, input);
    return answer(input, step);
  });
  const worker = workerPool(ports, [task]) as unknown as QueueHandler;
  const collect = collectOn({ store, answers });
  const relay = relayOn(snsEvents(publisher((sent) => void events.push(sent))));

  /** Enters a step and lets its task come to an end. */
  async function step(runId: string, name: string, input: Mapping) {
    const token = `token-${name}`;
    answers.open(token);
    const { type, version, retry } = echoTask;
    await dispatch(
      aDispatch({
        runId,
        token,
        input,
        workflow: 'echo',
        step: name,
        entered: new Date().toISOString(),
        task: { type, version, tries: retry.tries },
      }),
      memoryLog(),
    );
    await queue.drain(worker);
    const changes = records.splice(0);
    await relay.stream(changes);
    await collect.stream(changes.filter(({ dynamodb }) => dynamodb?.Keys?.['SK']?.S?.startsWith('STEP#')));
    const item = await store.get(stepItemKey(runId, name));
    return item && asStep(item);
  }

  /** A run of two steps: the first gets the run's input, the second the first one's result. */
  async function run(request: SentRequest) {
    const accepted = await api.trigger(v2(request));
    const runId = String(bodyIn(accepted)['id']);
    if (accepted.statusCode !== 202) return { accepted, runId };
    const first = await step(runId, 'First', fromInput());
    const second = await step(runId, 'Second', fromStep('First'));
    const shown = await api.status(v2({ path: { id: runId } }));
    return { accepted, runId, first, second, shown };
  }

  return {
    ...ports,
    api,
    answers,
    queue,
    worker,
    commands,
    events,
    seen,
    step,
    run,
    start: (body: unknown) => run(startRequest(body)),
  };
}
