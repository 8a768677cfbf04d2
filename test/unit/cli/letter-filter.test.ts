import { describe, expect, test } from 'vitest';
import { subjectOf } from '#cli/letter.ts';
import { judged, type LetterFilter } from '#cli/letter-filter.ts';
import type { StepItem } from '#core/items.ts';
import { aCommand, aDeadStep, aDoneStep, MINUTE, RUN_ID, T0 } from '#test/examples.ts';
import { letter } from './fake-letters.ts';

const one = letter(JSON.stringify(aCommand()), { messageId: 'm-1', sentAt: T0 });
const dead = aDeadStep();

const isMeant = async (filter: LetterFilter, task: StepItem | undefined = dead, of = one) =>
  (await judged(async () => task, of, subjectOf(of.body), filter)) !== undefined;

describe('each filter', () => {
  test.each<[LetterFilter, LetterFilter]>([
    [{}, { message: 'm-2' }],
    [{ message: 'm-1' }, { message: 'm' }],
    [{ run: RUN_ID }, { run: 'other' }],
    [{ task: `${RUN_ID}/Reserve/0` }, { task: `${RUN_ID}/Reserve/1` }],
    [{ type: 'inventory.stock.reserve' }, { type: 'inventory.stock' }],
    [{ tenant: 'acme' }, { tenant: 'default' }],
    [{ workflow: 'order' }, { workflow: 'orders' }],
    [{ reason: 'exhausted' }, { reason: 'permanent' }],
    [{ fingerprint: 'f00d' }, { fingerprint: 'f00' }],
    [{ since: T0 + MINUTE }, { since: T0 + MINUTE + 1 }],
    [
      { run: RUN_ID, reason: 'exhausted' },
      { run: RUN_ID, reason: 'expired' },
    ],
  ])('%j fits, %j does not', async (fits, not) => {
    expect([await isMeant(fits), await isMeant(not)]).toEqual([true, false]);
  });

  test('what is left over is found by its first words', async () => {
    const done = aDoneStep();
    expect(await isMeant({ reason: 'left over' }, done)).toBe(true);
    expect(await isMeant({ reason: 'left over: done' }, done)).toBe(true);
    expect(await isMeant({ reason: 'left' }, done)).toBe(false);
  });

  test('an event that relay could not tell is no spare copy of its finished task', async () => {
    const { PK, SK } = aDoneStep();
    const image = letter(JSON.stringify({ PK: { S: PK }, SK: { S: SK }, outbox: { M: {} } }));
    expect(await isMeant({ reason: 'left over' }, aDoneStep(), image)).toBe(false);
    expect(await isMeant({ reason: 'not a task', task: `${RUN_ID}/Reserve/0` }, aDoneStep(), image)).toBe(
      true,
    );
  });

  test('letters without a task: by their reason, and by when they were sent', async () => {
    const [bad, event] = [letter('{', { sentAt: 5 }), letter('{"id":"e","type":"t","subject":"r"}')];
    expect(await isMeant({ reason: 'unreadable', since: 5 }, undefined, bad)).toBe(true);
    expect(await isMeant({ since: 6 }, undefined, bad)).toBe(false);
    expect(await isMeant({ reason: 'not a task' }, undefined, event)).toBe(true);
    const found = await judged(async () => undefined, one, subjectOf(one.body), {});
    expect(found?.reason).toBe('not on record');
  });

  test('a letter that is not meant costs no read', async () => {
    let reads = 0;
    const lookUp = async () => {
      reads += 1;
      return dead;
    };
    await judged(lookUp, one, subjectOf(one.body), { run: 'other' });
    expect(reads).toBe(0);
  });
});
