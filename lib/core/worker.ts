/** One delivery of a command: claim, handle, commit, and what to tell the queue. */
import { type ClaimRequest, verdictOn } from './claim.ts';
import { claimer } from './claiming.ts';
import type { TaskHandler } from './contract.ts';
import { ACK, again, BURN, type Delivery, type Disposition } from './delivery.ts';
import type { Command } from './envelope.ts';
import { errorFields, PortUnavailable } from './errors.ts';
import { judge, type TriedAndFailed } from './failure.ts';
import { type Handled, handling } from './handling.ts';
import { asStep, type DeadReason, type StepItem } from './items.ts';
import { commitOf, giveUpOf, isMyCommit, retryOf } from './outcome.ts';
import { type Line, lineOf } from './parking.ts';
import type { Clock, Ids, LogFields, Payloads } from './ports.ts';
import { isUnreadable, parseCommand } from './read-command.ts';
import {
  backoffMs,
  deferralMs,
  LEASE_GRACE_MS,
  MAX_DEFERRALS,
  maxReceiveCount,
  portAwayMs,
  untilDeadline,
  visibilitySeconds,
} from './retry.ts';
import { seenFilter } from './seen-filter.ts';
import type { Store, Update, WriteResult } from './store.ts';
import type { TableWrite } from './table-write.ts';
import { errorOf, notTaken } from './transaction.ts';
import { transactTwice, Unsettled, writeTwice } from './write-twice.ts';

export interface WorkerPorts {
  readonly store: Store;
  readonly payloads: Payloads;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Handlers by command type. */
  readonly handlers: ReadonlyMap<string, TaskHandler>;
  /** What is deployed, kept with each failed attempt. */
  readonly version: string;
  /** Name of the pool where it keeps the order of its keys. Default: no order. */
  readonly pool?: string;
}

export function worker(ports: WorkerPorts) {
  const { store, clock, ids, handlers, version, pool } = ports;
  /** Finished tasks that this process has met: a flood of their copies costs reads, not refused writes. */
  const seen = seenFilter();
  const claim = claimer(store, seen);
  const { dataAt, inputOf, handled } = handling(ports);
  const twice = (update: Update): Promise<WriteResult> => writeTwice(store, update);

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
    const { partitionkey } = command;
    if (pool !== undefined && partitionkey === undefined) {
      delivery.log.error('command of an ordered pool without its key', { type: command.type });
      return BURN;
    }
    const request = requestOf(command, handler, delivery);
    const known = withLog(delivery, {
      run: command.runid,
      task: command.id,
      type: command.type,
      correlation: command.correlationid,
      trace: command.traceparent,
    });
    const line =
      pool === undefined || partitionkey === undefined
        ? undefined
        : lineOf(store, pool, { id: command.id, partitionkey });
    try {
      const claimed = await claim(request, known, line);
      if ('ack' in claimed) return claimed;
      const tried = withLog(known, { attempt: claimed.tries });
      const disposition = await attempt(claimed, request, handler, tried, line);
      // The first in line is done: the next one need not clear it away. Best effort, it would.
      if (line !== undefined && disposition.ack && claimed.parkedAt !== undefined)
        await line.place(clock.now()).catch(() => undefined);
      return disposition;
    } catch (error) {
      if (!(error instanceof PortUnavailable)) throw error;
      return portAway(error, known);
    }
  }

  const requestOf = (command: Command, { contract }: TaskHandler, delivery: Delivery): ClaimRequest => ({
    command,
    messageId: delivery.messageId,
    sentAt: delivery.sentAt,
    replay: delivery.replay,
    owner: ids.nonce(),
    now: clock.now(),
    leaseUntil: delivery.deadlineAt,
    atMostOnce: contract.mode === 'atMostOnce',
  });

  /** Back when the task can be taken again: after the lease that a lost write may have left, else after a short wait. */
  function portAway(error: PortUnavailable, { log, deadlineAt, receiveCount }: Delivery): Disposition {
    const lease = error instanceof Unsettled ? deadlineAt + LEASE_GRACE_MS - clock.now() + 1 : 0;
    const seconds = visibilitySeconds(Math.max(lease, portAwayMs(receiveCount, ids.random())));
    log.error('a port is away', { ...errorFields(error), seconds });
    return again(seconds);
  }

  async function attempt(
    claimed: StepItem,
    request: ClaimRequest,
    handler: TaskHandler,
    delivery: Delivery,
    line: Line | undefined,
  ): Promise<Disposition> {
    const { command } = request;
    const failed = (tried: TriedAndFailed): Promise<Disposition> =>
      failedTry(claimed, request, handler, delivery, line, tried);
    let input: unknown;
    try {
      const { data, dataref, tenant } = command;
      input = inputOf(dataref === undefined ? data : await dataAt(dataref, tenant), handler);
    } catch (error) {
      return failed({ ...judge(error), noEffect: true });
    }
    let made: Handled;
    try {
      made = await handled(claimed, command, handler, input, delivery);
    } catch (error) {
      return failed(judge(error));
    }
    const update = commitOf(claimed, command, handler.contract, made.result, clock.now());
    const write = made.writes?.length
      ? await together(update, made, made.writes).catch(notTaken)
      : await twice(update);
    if (write instanceof Error) return failed(judge(write));
    // What was written is known: only a refusal is read.
    if (write.written || isMyCommit(claimed, write.item && asStep(write.item))) {
      seen.add(command.id);
      delivery.log.info('task done');
      return ACK;
    }
    return refused(write.item && asStep(write.item), request, delivery);
  }

  /** The commit with the handler's writes, or why these were not taken. */
  async function together(
    update: Update,
    made: Handled,
    writes: readonly TableWrite[],
  ): Promise<WriteResult | Error> {
    const transaction = await transactTwice(store, [update], writes);
    // Read rather than remembered: nobody but the holder writes a claimed item, and a done one stays as it is.
    if (transaction.written) return { written: true, item: { ...update.key } };
    const [own, ...others] = transaction.refusals;
    // Where the claim is lost, or the first answer was, the item says which, whatever else stood in the way.
    if (own?.why === 'condition') return { written: false, item: await store.get(update.key) };
    return errorOf([own, ...others], made);
  }

  /** What a failed try means: another try, a deferral, or the end. */
  async function failedTry(
    claimed: StepItem,
    request: ClaimRequest,
    handler: TaskHandler,
    delivery: Delivery,
    line: Line | undefined,
    tried: TriedAndFailed,
  ): Promise<Disposition> {
    const { command } = request;
    const now = clock.now();
    const { failure } = tried;
    const fields = { error: failure.name, class: failure.class, fingerprint: failure.fingerprint };
    const giveUp = async (reason: DeadReason): Promise<Disposition> => {
      const update = giveUpOf(claimed, command, reason, tried, delivery.messageId, version, now);
      // A refusal ends the run and is never tried again: nobody need wait behind it.
      const parks = line !== undefined && !failure.refused;
      const write = parks ? await line.bury(update, claimed) : await twice(update);
      if (!write.written && !isMyDeath(claimed, write.item && asStep(write.item), delivery.messageId))
        return refused(write.item && asStep(write.item), request, delivery);
      delivery.log.error('task gave up', { ...fields, reason });
      return BURN;
    };
    if (failure.class === 'permanent') return giveUp('permanent');
    const deferred = failure.class === 'throttled';
    // Nobody knows whether the handler had its effect: for a task that may have it once, a person has to find out.
    if (claimed.atMostOnce && !deferred && !tried.noEffect) return giveUp('unknown');
    if (!deferred && claimed.tries >= command.trylimit) return giveUp('exhausted');
    const receivesLeft = maxReceiveCount(command.trylimit) - delivery.receiveCount;
    const waitsLeft = Math.min(receivesLeft, MAX_DEFERRALS - (claimed.deferred ?? 0));
    // After its last receive the message does not come back: a wait would have no end and no reason on record.
    if ((deferred ? waitsLeft : receivesLeft) <= 0) return giveUp('starved');
    const wait = deferred
      ? deferralMs(tried.retryAfterSeconds, claimed.deadline - now, waitsLeft)
      : backoffMs(handler.contract.retry, claimed.tries, ids.random());
    const seconds = visibilitySeconds(untilDeadline(wait, claimed.deadline - now));
    const next = { notBefore: now + seconds * 1000, counted: !deferred };
    const write = await twice(retryOf(claimed, tried, next, version, now));
    if (!write.written && write.item?.['status'] !== 'retrying')
      return refused(write.item && asStep(write.item), request, delivery);
    delivery.log.warn('task will be tried again', { ...fields, seconds });
    return again(seconds);
  }

  /** A write of the holder was refused: it is the holder no more, and nothing was written. */
  function refused(item: StepItem | undefined, request: ClaimRequest, { log }: Delivery): Disposition {
    log.warn('claim was lost before its outcome', { status: item?.status });
    const verdict = verdictOn(item, { ...request, now: clock.now() });
    if (verdict.act === 'ack') return ACK;
    return again(verdict.act === 'wait' ? verdict.seconds : 1);
  }

  return { process };
}

const withLog = (delivery: Delivery, fields: LogFields): Delivery => ({
  ...delivery,
  log: delivery.log.child(fields),
});

/** A death whose first answer was lost. */
const isMyDeath = (claimed: StepItem, found: StepItem | undefined, messageId: string): boolean =>
  found?.status === 'dead' && found.fence === claimed.fence && found.deadMessageId === messageId;
