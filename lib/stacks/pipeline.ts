import { Duration, Stack, Validations } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { onPayloads, onTable, PAYLOAD_PREFIX, publishesTo } from '#constructs/access.ts';
import { Alarms } from '#constructs/alarms.ts';
import { Close } from '#constructs/close.ts';
import { Dispatch } from '#constructs/dispatch.ts';
import { OrchestratorApi } from '#constructs/orchestrator-api.ts';
import { Project } from '#constructs/project.ts';
import { StageFunction } from '#constructs/stage-function.ts';
import { deadTurnsDone, runHasOutbox, taskTurnsTerminal } from '#constructs/stream-filters.ts';
import { StreamFollower } from '#constructs/stream-follower.ts';
import { Sweep } from '#constructs/sweep.ts';
import { CommandTopic, encryptedTopic } from '#constructs/topics.ts';
import { type PoolOptions, WorkerPool } from '#constructs/worker-pool.ts';
import { Workflow } from '#constructs/workflow.ts';
import { grantAnswers, startsWorkflows } from '#constructs/workflow-access.ts';
import { ENV } from '#core/env-names.ts';
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX, OPEN_INDEX } from '#core/tables.ts';
import type { WorkflowDefinition } from '#workflows/deployed.ts';
import { writeOutputs } from './outputs.ts';
import type { StageSettings } from './stages.ts';
import type { StateStack } from './state.ts';
import type { StubsStack } from './stubs.ts';

export interface PipelineProps {
  readonly stage: StageSettings;
  readonly books: StateStack;
  readonly stubs?: StubsStack;
  readonly pools: Readonly<Record<string, PoolOptions>>;
  readonly workflows: readonly WorkflowDefinition[];
}

/** API Gateway itself gives up after 30 s. */
const API_TIMEOUT = Duration.seconds(29);

/** The path of a task, in order: everything here can be replaced without losing a run. */
export class PipelineStack extends Stack {
  readonly alarms: Alarms;

  constructor(scope: Construct, id: string, props: PipelineProps) {
    const { stage, books } = props;
    super(scope, id, { synthesizer: stage.synthesizer(), terminationProtection: stage.protect });
    const { state, views, payloads } = books;
    const alarms = new Alarms(this, 'Alarms');
    this.alarms = alarms;
    Validations.of(this).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${books.payloadsExport}/${PAYLOAD_PREFIX}*]`,
      reason:
        'Objects are named at run time, after their runs and tasks: GetObject and PutObject on this one prefix of our own bucket (test/infra lists every wildcard).',
    });
    const shared = { stage, state, payloads, alarms };

    const commands = new CommandTopic(this, 'Commands');
    const pools = Object.entries(props.pools).map(
      ([name, pool]) => new WorkerPool(this, `Pool-${name}`, { ...shared, ...pool, name, commands }),
    );
    const dispatch = new Dispatch(this, 'Dispatch', { ...shared, commands });
    const workflows = props.workflows.map(
      (workflow) =>
        new Workflow(this, `Workflow-${workflow.contract.name}`, { stage, ...workflow, dispatch, alarms }),
    );
    grantAnswers(dispatch.fn, workflows, stage);

    const collect = new StreamFollower(this, 'Collect', {
      ...shared,
      name: 'collect',
      filters: [taskTurnsTerminal, deadTurnsDone],
      uses: [onTable(ENV.stateTable, state, ['GetItem', 'UpdateItem', 'Query']), startsWorkflows(workflows)],
    });
    grantAnswers(collect.fn, workflows, stage);
    const events = encryptedTopic(this, 'Events');
    const relay = new StreamFollower(this, 'Relay', {
      ...shared,
      name: 'relay',
      filters: [taskTurnsTerminal, deadTurnsDone, runHasOutbox],
      uses: [publishesTo(ENV.eventsTopic, events, stage)],
    });
    const project = new Project(this, 'Project', { stage, events, views, alarms });
    const close = new Close(this, 'Close', { ...shared, workflows });
    const sweep = new Sweep(this, 'Sweep', {
      ...shared,
      views,
      openIndex: OPEN_INDEX.name,
      commands,
      workflows,
      projectInbox: project.inbox.queue,
      relayRetry: relay.retry.queue,
    });

    const tenants = { [ENV.tenants]: JSON.stringify(stage.tenants) };
    const trigger = new StageFunction(this, 'Trigger', {
      stage,
      entry: 'trigger',
      timeout: API_TIMEOUT,
      environment: { ...tenants, [ENV.version]: stage.version },
      uses: [
        onTable(ENV.stateTable, state, ['GetItem', 'PutItem']),
        onPayloads(payloads, ['PutObject']),
        startsWorkflows(workflows),
      ],
    });
    const status = new StageFunction(this, 'Status', {
      stage,
      entry: 'status',
      timeout: API_TIMEOUT,
      environment: tenants,
      uses: [
        onTable(ENV.stateTable, state, ['Query']),
        onTable(ENV.viewsTable, views, ['Query'], [BY_WORKFLOW_INDEX.name, BY_STATUS_INDEX.name]),
        onPayloads(payloads, ['GetObject']),
      ],
    });
    const api = new OrchestratorApi(this, 'Api', { stage, trigger: trigger.fn, status: status.fn });

    alarms.onFunction('trigger', trigger.fn);
    alarms.onFunction('status', status.fn);
    alarms.onTopic('commands', commands.topic);
    if (commands.orderedTopic) alarms.onTopic('ordered-commands', commands.orderedTopic);
    alarms.onTopic('events', events);

    writeOutputs(this, {
      api: api.http,
      state,
      views,
      accounts: books.accounts,
      payloads,
      commands: commands.topic,
      events,
      alarms: alarms.topic,
      workflows,
      queues: {
        ...Object.fromEntries(pools.map(({ poolName, work, types }) => [poolName, { ...work, types }])),
        project: project.inbox,
        'collect-retry': collect.retry,
        'relay-retry': relay.retry,
      },
      deadLetters: { close: close.deadLetters },
      functions: {
        trigger: trigger.fn,
        status: status.fn,
        dispatch: dispatch.fn,
        collect: collect.fn,
        relay: relay.fn,
        project: project.fn,
        close: close.fn,
        sweep: sweep.fn,
        ...Object.fromEntries(pools.map(({ poolName, fn }) => [`worker-${poolName}`, fn])),
      },
      ...(props.stubs && { stub: props.stubs.stub }),
    });
  }
}
