/** Takes the task of a delivery, or finds out what its message has to do instead. */
import {
  type ClaimRequest,
  claimOf,
  hasOtherData,
  noteMetOf,
  reviveOf,
  type Verdict,
  verdictOn,
} from './claim.ts';
import { exhaustOf, expireOf, loseOf, parkOf, starveOf } from './deaths.ts';
import { ACK, again, BURN, type Delivery, type Disposition } from './delivery.ts';
import type { Command } from './envelope.ts';
import { asRun, asStep, runKey, type StepItem, stepItemKey } from './items.ts';
import type { Line } from './parking.ts';
import type { Log } from './ports.ts';
import { LEASE_GRACE_MS, maxReceiveCount } from './retry.ts';
import type { SeenFilter } from './seen-filter.ts';
import { all, type Store, to, type Update, type WriteResult, where } from './store.ts';
import { writeTwice } from './write-twice.ts';

/** A claim and a read may lose a race to one another; more often than this in a row is no race. */
const CLAIM_ROUNDS = 3;

/** Its message would begin a try, or end the last one. */
const wantsTask = ({ act }: Verdict): boolean => act === 'claim' || act === 'revive' || act === 'exhaust';

/** By the envelope, which may be older than the step's present entry. */
const isLate = ({ command, now }: ClaimRequest): boolean => Date.parse(command.deadline) <= now;

/** @param seen finished tasks that this process has met */
export function claimer(store: Store, seen: SeenFilter) {
  const twice = (update: Update): Promise<WriteResult> => writeTwice(store, update);

  const stepOf = async (command: Command): Promise<StepItem | undefined> => {
    const item = await store.get(stepItemKey(command.runid, command.step));
    return item && asStep(item);
  };

  /** The claimed item, or what to do with the message instead. */
  async function claim(
    request: ClaimRequest,
    delivery: Delivery,
    line: Line | undefined,
  ): Promise<StepItem | Disposition> {
    const { command } = request;
    // The first delivery of a command in time claims at once; all others look first, which costs a read only.
    let verdict: Verdict = { act: 'claim' };
    let item: StepItem | undefined;
    const late = isLate(request);
    if (late || delivery.receiveCount > 1 || request.replay > 0 || seen.mayHave(command.id)) {
      item = await stepOf(command);
      verdict = verdictOn(item, request);
    }
    for (let round = 0; round < CLAIM_ROUNDS; round += 1) {
      // Nearly every delivery is in time and in no line: no promise but the write's own.
      const write = await (line === undefined && !late
        ? actOn(verdict, item, request, delivery, line)
        : inPlace(verdict, item, request, delivery, line));
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

  /**
   * Carries a verdict out where the task may have its turn. What goes to the dead letters, is acked or waits does so
   * wherever it stands in line: only who wants the task must be first.
   */
  async function inPlace(
    verdict: Verdict,
    item: StepItem | undefined,
    request: ClaimRequest,
    delivery: Delivery,
    line: Line | undefined,
  ): Promise<WriteResult | Disposition> {
    const { command, now } = request;
    if (line !== undefined && wantsTask(verdict)) {
      const place = await line.place(now);
      if (place === 'busy') return again(1);
      if (place !== 'free') {
        const found = item ?? (await stepOf(command));
        const present = verdictOn(found, request);
        return found && wantsTask(present)
          ? standBehind(place.behind, line, request, delivery, found, present)
          : actOn(present, found, request, delivery, line);
      }
    }
    if (isLate(request) && item && (verdict.act === 'claim' || verdict.act === 'revive')) {
      const expired = await expireUnlessFresh(item, request, verdict.act, delivery.log, line);
      if (expired) return expired;
    }
    return actOn(verdict, item, request, delivery, line);
  }

  /** An earlier task of the key is dead: this one is not tried, whatever its own item would allow. */
  async function standBehind(
    behind: string,
    line: Line,
    { command, messageId, now }: ClaimRequest,
    { log }: Delivery,
    item: StepItem,
    { act }: Verdict,
  ): Promise<WriteResult | Disposition> {
    log.warn('key is parked', { behind });
    // A dead one has its place since its death.
    return act === 'revive' ? BURN : line.bury(parkOf(item, command, behind, messageId, now), item);
  }

  /** Carries a verdict out: a write that may be refused, or the message's disposition. */
  function actOn(
    verdict: Verdict,
    item: StepItem | undefined,
    request: ClaimRequest,
    delivery: Delivery,
    line: Line | undefined,
  ): Promise<WriteResult | Disposition> {
    if (item && hasOtherData(item, request.command))
      delivery.log.warn('copy of a task with other data', { status: item.status });
    if (verdict.act === 'claim' || verdict.act === 'mine') return twice(claimOf(request));
    return actOnOther(verdict, item, request, delivery, line);
  }

  async function actOnOther(
    verdict: Exclude<Verdict, { act: 'claim' | 'mine' }>,
    item: StepItem | undefined,
    request: ClaimRequest,
    { log, receiveCount }: Delivery,
    line: Line | undefined,
  ): Promise<WriteResult | Disposition> {
    const { messageId, now } = request;
    const bury = (death: Update, task: StepItem): Promise<WriteResult> =>
      line === undefined ? twice(death) : line.bury(death, task);
    switch (verdict.act) {
      case 'revive':
        return twice(reviveOf(request, verdict.item));
      case 'exhaust':
        return bury(exhaustOf(verdict.item, request.command, messageId, now), verdict.item);
      case 'unknown':
        return bury(loseOf(verdict.item, request.command, messageId, now), verdict.item);
      case 'ack':
        seen.add(request.command.id);
        log.debug('task was finished before', { status: item?.status });
        return ACK;
      case 'wait': {
        // A holder has a message of its own; a task between two tries may have this one only.
        const isLast = receiveCount >= maxReceiveCount(request.command.trylimit);
        if (!isLast || item === undefined || item.status === 'claimed') return again(verdict.seconds);
        return bury(starveOf(item, request.command, messageId, now), item);
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
    line: Line | undefined,
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
    if (act === 'claim') {
      const death = expireOf(item, command, request.messageId, now);
      await (line === undefined ? twice(death) : line.bury(death, item));
    }
    log.warn('deadline passed', { status: item.status });
    return BURN;
  }

  return claim;
}
