/** One delivery of a command: claim, handle, commit, and what to tell the queue. */
import {
  type ClaimRequest,
  claimOf,
  hasOtherData,
  noteMetOf,
  reviveOf,
  type Verdict,
  verdictOn,
} from './claim.ts';
import { checkValue, type TaskContext, type TaskHandler } from './contract.ts';
import type { Command } from './envelope.ts';
import { ContractError, PermanentError, PortUnavailable } from './errors.ts';
import { judge, type TriedAndFailed } from './failure.ts';
import { asRun, asStep, type DeadReason, runKey, type StepItem, stepItemKey } from './items.ts';
import {
  commitOf,
  exhaustOf,
  expireOf,
  giveUpOf,
  isMyCommit,
  type Result,
  retryOf,
  starveOf,
} from './outcome.ts';
import { INLINE_BYTES, keepPayload } from './payload.ts';
import type { Clock, Ids, Log, Payloads } from './ports.ts';
import { isUnreadable, parseCommand } from './read-command.ts';
import {
  backoffMs,
  deferralMs,
  LEASE_GRACE_MS,
  MAX_DEFERRALS,
  maxReceiveCount,
  visibilitySeconds,
} from './retry.ts';
import { seenFilter } from './seen-filter.ts';
import { all, type Store, to, type Update, type WriteResult, where } from './store.ts';

export interface WorkerPorts {
  readonly store: Store;
  readonly payloads: Payloads;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Handlers by command type. */
  readonly handlers: ReadonlyMap<string, TaskHandler>;
  /** What is deployed, kept with each failed attempt. */
  readonly version: string;
}

/** One SQS message in the hands of this function. */
export interface Delivery {
  readonly body: string;
  readonly messageId: string;
  /** ApproximateReceiveCount, from 1. */
  readonly receiveCount: number;
  /** SentTimestamp, epoch milliseconds. */
  readonly sentAt: number;
  /** Our replay tool's number, 0 for none. */
  readonly replay: number;
  /** The function's deadline, epoch milliseconds. */
  readonly deadlineAt: number;
  /** Aborts shortly before that deadline. */
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** `ack`: delete the message. Otherwise it is reported and comes back after `seconds` (0: at once, on its way to the DLQ). */
export type Disposition = { readonly ack: true } | { readonly ack: false; readonly seconds: number };

const ACK: Disposition = { ack: true };
const BURN: Disposition = { ack: false, seconds: 0 };
const again = (seconds: number): Disposition => ({ ack: false, seconds });

/** A claim and a read may lose a race to one another; more often than this in a row is no race. */
const CLAIM_ROUNDS = 3;

export function worker(ports: WorkerPorts) {
  const { store, payloads, clock, ids, handlers, version } = ports;
  /** Finished tasks that this process has met: a flood of their copies costs reads, not refused writes. */
  const seen = seenFilter();

  const stepOf = async (command: Command): Promise<StepItem | undefined> => {
    const item = await store.get(stepItemKey(command.runid, command.step));
    return item && asStep(item);
  };

  /** A lost answer is asked for once more; what the item says then is the truth. */
  const twice = async (update: Update): Promise<WriteResult> => {
    try {
      return await store.update(update);
    } catch (error) {
      if (!(error instanceof PortUnavailable)) throw error;
      return store.update(update);
    }
  };

  async function process(delivery: Delivery): Promise<Disposition> {
    const command = parseCommand(delivery.body);
    if (isUnreadable(command)) {
      if (command.harmless) {
        delivery.log.info('message is known noise', { problem: command.problem });
        return ACK;
      }
      delivery.log.error('message is no command', { problem: command.problem });
      return BURN;
    }
    const handler = handlers.get(command.type);
    if (handler === undefined) {
      delivery.log.error('no handler for this command type', { type: command.type.slice(0, 120) });
      return BURN;
    }
    const request: ClaimRequest = {
      command,
      messageId: delivery.messageId,
      sentAt: delivery.sentAt,
      replay: delivery.replay,
      owner: ids.nonce(),
      now: clock.now(),
      leaseUntil: delivery.deadlineAt,
    };
    const log = delivery.log.child({
      run: command.runid,
      task: command.id,
      type: command.type,
      correlation: command.correlationid,
      trace: command.traceparent,
    });
    const known = { ...delivery, log };
    const claimed = await claim(request, known);
    if ('ack' in claimed) return claimed;
    return attempt(claimed, command, handler, { ...known, log: log.child({ attempt: claimed.tries }) });
  }

  /** The claimed item, or what to do with the message instead. */
  async function claim(request: ClaimRequest, delivery: Delivery): Promise<StepItem | Disposition> {
    const { command, now } = request;
    // The first delivery of a command in time claims at once; all others look first, which costs a read only.
    let verdict: Verdict = { act: 'claim' };
    let item: StepItem | undefined;
    const late = Date.parse(command.deadline) <= now;
    if (late || delivery.receiveCount > 1 || request.replay > 0 || seen.mayHave(command.id)) {
      item = await stepOf(command);
      verdict = verdictOn(item, request);
      if (late && item && (verdict.act === 'claim' || verdict.act === 'revive')) {
        const expired = await expireUnlessFresh(item, request, verdict.act, delivery.log);
        if (expired) return expired;
      }
    }
    for (let round = 0; round < CLAIM_ROUNDS; round += 1) {
      const write = await actOn(verdict, item, request, delivery);
      if ('ack' in write) return write;
      if (write.written) {
        const now = asStep(write.item);
        if (now.status === 'claimed') return now;
        delivery.log.warn('task gave up', { reason: now.reason });
        return BURN;
      }
      item = write.item && asStep(write.item);
      verdict = verdictOn(item, request);
      if (verdict.act === 'mine') return verdict.item;
    }
    return again(1);
  }

  /** Carries a verdict out: a write that may be refused, or the message's disposition. */
  async function actOn(
    verdict: Verdict,
    item: StepItem | undefined,
    request: ClaimRequest,
    { log, receiveCount }: Delivery,
  ): Promise<WriteResult | Disposition> {
    if (item && hasOtherData(item, request.command))
      log.warn('copy of a task with other data', { status: item.status });
    switch (verdict.act) {
      case 'claim':
      case 'mine':
        return twice(claimOf(request));
      case 'revive':
        return twice(reviveOf(request, verdict.item));
      case 'exhaust':
        return twice(exhaustOf(verdict.item, request.command, request.messageId, request.now));
      case 'ack':
        seen.add(request.command.id);
        log.debug('task was finished before', { status: item?.status });
        return ACK;
      case 'wait': {
        // A holder has a message of its own; a task between two tries may have this one only.
        const isLast = receiveCount >= maxReceiveCount(request.command.trylimit);
        if (!isLast || item === undefined || item.status === 'claimed') return again(verdict.seconds);
        return twice(starveOf(item, request.command, request.messageId, request.now));
      }
      case 'burn':
        if (item === undefined) log.error('no step on record for this command');
        else log.info('copy of a dead task goes to the dead-letter queue', { reason: item.reason });
        if (verdict.note) await store.update(noteMetOf(request));
        return BURN;
    }
  }

  /**
   * The envelope's deadline has passed, which is a hint only: the step may have been entered again since, and a
   * redrive of a held run's task is a new chance with a fresh deadline. Otherwise the task dies, unless it is dead.
   */
  async function expireUnlessFresh(
    item: StepItem,
    request: ClaimRequest,
    act: 'claim' | 'revive',
    log: Log,
  ): Promise<Disposition | undefined> {
    const { command, now } = request;
    if (item.deadline > now) return undefined;
    const stored = await store.get(runKey(command.runid));
    const run = stored && asRun(stored);
    const sentBack =
      act === 'revive' ||
      request.replay > (item.replay ?? 0) ||
      request.sentAt > Date.parse(command.time) + LEASE_GRACE_MS;
    if (run?.status === 'held' && sentBack) {
      const fresh = now + item.timeoutSeconds * 1000;
      await store.update({
        key: stepItemKey(command.runid, command.step),
        when: all(where('execution', '=', item.execution), where('deadline', '=', item.deadline)),
        changes: { deadline: to(fresh) },
      });
      return undefined;
    }
    if (act === 'claim') await twice(expireOf(item, command, request.messageId, now));
    log.warn('deadline passed', { status: item.status });
    return BURN;
  }

  async function attempt(
    claimed: StepItem,
    command: Command,
    handler: TaskHandler,
    delivery: Delivery,
  ): Promise<Disposition> {
    let result: Result;
    try {
      result = await handled(claimed, command, handler, delivery);
    } catch (error) {
      return failed(claimed, command, handler, delivery, judge(error));
    }
    const write = await twice(commitOf(claimed, command, handler.contract, result, clock.now()));
    const item = write.item && asStep(write.item);
    if (write.written || isMyCommit(claimed, item)) {
      seen.add(command.id);
      delivery.log.info('task done');
      return ACK;
    }
    return refused(item, command, delivery);
  }

  async function handled(
    claimed: StepItem,
    command: Command,
    handler: TaskHandler,
    delivery: Delivery,
  ): Promise<Result> {
    const { contract } = handler;
    const data: unknown =
      command.dataref === undefined ? command.data : JSON.parse(await payloads.get(command.dataref));
    const input = checkValue(contract.input, data);
    if (!input.ok)
      throw new PermanentError(
        `the input does not fit ${contract.type} version ${contract.version}: ${problemsText(input.problems)}`,
        { noEffect: true },
      );
    const context: TaskContext = {
      taskId: command.id,
      runId: command.runid,
      tenant: command.tenant,
      correlationId: command.correlationid,
      idempotencyKey: command.id,
      attempt: claimed.tries,
      signal: delivery.signal,
      remainingMs: () => delivery.deadlineAt - clock.now(),
      log: delivery.log,
    };
    const output = checkValue(contract.output, await handler.run(input.value, context));
    if (!output.ok)
      throw new ContractError(
        `the handler's result does not fit ${contract.type} version ${contract.version}: ${problemsText(output.problems)}`,
      );
    return stored(claimed, command, contract.expose, output.value);
  }

  async function stored(
    claimed: StepItem,
    command: Command,
    expose: readonly string[],
    output: unknown,
  ): Promise<Result> {
    const text = JSON.stringify(output) ?? 'null';
    const shown = Object.fromEntries(
      expose.flatMap((field) => {
        const value = (output as Record<string, unknown> | null)?.[field];
        return value === undefined ? [] : [[field, value]];
      }),
    );
    const exposed = expose.length === 0 ? {} : { exposed: JSON.stringify(shown) };
    if (exposed.exposed !== undefined && Buffer.byteLength(exposed.exposed) > INLINE_BYTES)
      throw new ContractError(
        `the exposed fields of ${command.type} hold more than ${INLINE_BYTES} bytes: expose only what a Choice needs`,
      );
    const key = `${command.tenant}/${command.runid}/${command.step}-${claimed.fence}.json`;
    return { ...(await keepPayload(payloads, key, text)), ...exposed };
  }

  /** What a failed try means: another try, a deferral, or the end. */
  async function failed(
    claimed: StepItem,
    command: Command,
    handler: TaskHandler,
    delivery: Delivery,
    tried: TriedAndFailed,
  ): Promise<Disposition> {
    const now = clock.now();
    const { failure } = tried;
    const fields = { error: failure.name, class: failure.class, fingerprint: failure.fingerprint };
    const giveUp = async (reason: DeadReason): Promise<Disposition> => {
      const update = giveUpOf(claimed, command, reason, tried, delivery.messageId, version, now);
      const write = await twice(update);
      if (!write.written && !isMyDeath(claimed, write.item && asStep(write.item), delivery.messageId))
        return refused(write.item && asStep(write.item), command, delivery);
      delivery.log.error('task gave up', { ...fields, reason });
      return BURN;
    };
    if (failure.class === 'permanent') return giveUp('permanent');
    const deferred = failure.class === 'throttled';
    if (!deferred && claimed.tries >= command.trylimit) return giveUp('exhausted');
    const receivesLeft = maxReceiveCount(command.trylimit) - delivery.receiveCount;
    const waitsLeft = Math.min(receivesLeft, MAX_DEFERRALS - (claimed.deferred ?? 0));
    // After its last receive the message does not come back: a wait would have no end and no reason on record.
    if ((deferred ? waitsLeft : receivesLeft) <= 0) return giveUp('starved');
    const wait = deferred
      ? deferralMs(tried.retryAfterSeconds, claimed.deadline - now, waitsLeft)
      : backoffMs(handler.contract.retry, claimed.tries, ids.random());
    const seconds = visibilitySeconds(wait);
    const next = { notBefore: now + seconds * 1000, counted: !deferred };
    const write = await twice(retryOf(claimed, tried, next, version, now));
    if (!write.written && write.item?.['status'] !== 'retrying')
      return refused(write.item && asStep(write.item), command, delivery);
    delivery.log.warn('task will be tried again', { ...fields, seconds });
    return again(seconds);
  }

  /** A write of the holder was refused: it is the holder no more, and nothing was written. */
  function refused(item: StepItem | undefined, command: Command, delivery: Delivery): Disposition {
    delivery.log.warn('claim was lost before its outcome', { status: item?.status });
    const verdict = verdictOn(item, {
      command,
      messageId: delivery.messageId,
      sentAt: delivery.sentAt,
      replay: 0,
      owner: '',
      now: clock.now(),
      leaseUntil: 0,
    });
    if (verdict.act === 'ack') return ACK;
    return again(verdict.act === 'wait' ? verdict.seconds : 1);
  }

  return { process };
}

/** A death whose first answer was lost. */
const isMyDeath = (claimed: StepItem, found: StepItem | undefined, messageId: string): boolean =>
  found?.status === 'dead' && found.fence === claimed.fence && found.deadMessageId === messageId;

const problemsText = (problems: readonly { readonly pointer: string; readonly detail: string }[]): string =>
  problems.map(({ pointer, detail }) => `${pointer || '/'} ${detail}`).join('; ');
