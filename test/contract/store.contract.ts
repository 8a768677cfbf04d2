/** What every store does, whatever it is made of. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  absent,
  addToSet,
  all,
  any,
  type Condition,
  copyOf,
  gone,
  type Item,
  ifMissing,
  missing,
  oneOf,
  plus,
  present,
  type Store,
  sameAs,
  to,
  type WriteResult,
  where,
} from '#core/store.ts';

/** A key that no other case uses: suites share one table. */
let cases = 0;
const fresh = () => ({ PK: `CASE#${Date.now().toString(36)}#${process.pid}#${cases++}`, SK: 'A' });
const always = all();
/** Both members, wherever an adapter has them: DynamoDB's converts the item when it is asked for. */
const told = ({ written, item }: WriteResult) => ({ written, item });

/** @param make a store whose table has the index of open runs; called once */
export function storeContract(make: () => Promise<Store>): void {
  let store: Store;
  beforeAll(async () => {
    store = await make();
  });

  describe('transactions', () => {
    const two = async () => {
      const [a, b] = [fresh(), fresh()];
      await store.put({ item: { ...a, n: 1 }, when: absent });
      await store.put({ item: { ...b, n: 1 }, when: absent });
      return [a, b] as const;
    };

    test('all of them are written', async () => {
      const [a, b] = await two();
      const written = await store.transact([
        { key: a, when: where('n', '=', 1), changes: { n: plus(1), by: to('a') } },
        { key: b, when: present('n'), changes: { n: gone } },
      ]);
      expect(written).toEqual({ written: true });
      expect(await store.get(a)).toEqual({ ...a, n: 2, by: 'a' });
      expect(await store.get(b)).toEqual(b);
    });

    test('or none: each refused condition shows the item that made it false', async () => {
      const [a, b] = await two();
      const c = fresh();
      const written = await store.transact([
        { key: a, when: where('n', '=', 1), changes: { n: plus(1) } },
        { key: b, when: where('n', '=', 7), changes: { n: plus(1) } },
        { key: c, when: present('n'), changes: { n: plus(1) } },
      ]);
      expect(written).toEqual({
        written: false,
        refusals: [
          undefined,
          { why: 'condition', item: { ...b, n: 1 } },
          { why: 'condition', item: undefined },
        ],
      });
      expect(await store.get(a)).toEqual({ ...a, n: 1 });
      expect(await store.get(c)).toBeUndefined();
    });

    test('an update without changes is a check: it writes nothing, and it stops what depends on it', async () => {
      const [a, b] = await two();
      const check = { key: b, when: where('n', '=', 1), changes: {} };
      expect(await store.transact([{ key: a, when: always, changes: { n: to(2) } }, check])).toEqual({
        written: true,
      });
      await store.update({ key: b, when: always, changes: { n: to(9) } });
      expect(await store.transact([{ key: a, when: always, changes: { n: to(3) } }, check])).toMatchObject({
        written: false,
      });
      expect(await store.get(a)).toMatchObject({ n: 2 });
      expect(await store.get(b)).toEqual({ ...b, n: 9 });
    });
  });

  describe('writes', () => {
    test('an item comes back as it was put, each type as itself', async () => {
      const item: Item = {
        ...fresh(),
        text: 'naïve ✓ 😀',
        empty: '',
        count: 42,
        fraction: -0.25,
        big: 1_795_983_862_469,
        yes: true,
        no: false,
        tags: new Set(['b', 'a']),
        list: ['x', 1, { deep: [true] }, []],
        map: { name: 'v', none: undefined, nested: { n: 0 }, void: {} },
        left: undefined,
        nobody: new Set<string>(),
      };
      const { left: _left, nobody: _nobody, ...kept } = item;
      const expected = { ...kept, map: { name: 'v', nested: { n: 0 }, void: {} } };
      expect(await store.put({ item, when: absent })).toEqual({ written: true, item: expected });
      const read = await store.get(item);
      expect(read).toEqual(expected);
      expect(Object.keys(read ?? {})).not.toContain('left');
      expect(Object.keys(read ?? {})).not.toContain('nobody');
    });

    test('a refused write changes nothing and tells what stood in its way', async () => {
      const first = { ...fresh(), owner: 'one', members: new Set(['x']) };
      await store.put({ item: first, when: absent });
      const second = { ...first, owner: 'two' };
      expect(await store.put({ item: second, when: absent })).toEqual({ written: false, item: first });
      const update = { key: first, when: where('owner', '=', 'nobody'), changes: { owner: to('three') } };
      expect(told(await store.update(update))).toEqual({ written: false, item: first });
      expect(await store.get(first)).toEqual(first);
    });

    test('a write refused for want of an item tells that there is none', async () => {
      const key = fresh();
      const update = { key, when: present('PK'), changes: { n: plus(1) } };
      expect(told(await store.update(update))).toEqual({ written: false, item: undefined });
      expect(await store.get(key)).toBeUndefined();
    });

    test('a put replaces the whole item', async () => {
      const key = fresh();
      await store.put({ item: { ...key, a: 1, b: 2 }, when: always });
      await store.put({ item: { ...key, a: 3 }, when: where('b', '=', 2) });
      expect(await store.get(key)).toEqual({ ...key, a: 3 });
    });

    test('an update makes an absent item, and answers with the item as it is then', async () => {
      const key = fresh();
      const changes = {
        n: plus(3),
        tags: addToSet('a', 'b'),
        once: ifMissing('first'),
        name: to('x'),
        nothing: gone,
        none: addToSet(),
      };
      const made = { ...key, n: 3, tags: new Set(['a', 'b']), once: 'first', name: 'x' };
      expect(told(await store.update({ key, when: absent, changes }))).toEqual({ written: true, item: made });
      expect(await store.get(key)).toEqual(made);
    });

    test('every change reads the item as it was before the write', async () => {
      const key = fresh();
      await store.put({ item: { ...key, a: 1, b: 2, tags: new Set(['x']), once: 'kept' }, when: always });
      const changes = {
        a: copyOf('b'),
        b: copyOf('a'),
        old: copyOf('tags'),
        tags: addToSet('y', 'x'),
        once: ifMissing('no'),
        n: plus(-1),
      };
      const now = {
        ...key,
        a: 2,
        b: 1,
        old: new Set(['x']),
        tags: new Set(['x', 'y']),
        once: 'kept',
        n: -1,
      };
      expect(told(await store.update({ key, when: always, changes }))).toEqual({ written: true, item: now });
    });

    test('an update that changes nothing answers with the item all the same', async () => {
      const key = fresh();
      await store.put({ item: { ...key, a: 1 }, when: always });
      expect(told(await store.update({ key, when: always, changes: {} }))).toEqual({
        written: true,
        item: { ...key, a: 1 },
      });
      expect(told(await store.update({ key, when: always, changes: { b: gone } }))).toEqual({
        written: true,
        item: { ...key, a: 1 },
      });
    });

    test.each([
      ['a copy of what is not there', { a: copyOf('nowhere') }],
      ['a sum with text', { text: plus(1) }],
      ['a member for what is no set', { text: addToSet('x') }],
      ['another key', { SK: to('B') }],
    ])('%s is refused as a mistake, and nothing is written', async (_what, changes) => {
      const item = { ...fresh(), text: 'x' };
      await store.put({ item, when: always });
      await expect(store.update({ key: item, when: always, changes })).rejects.toThrow();
      expect(await store.get(item)).toEqual(item);
    });

    test('names that are reserved words or look like paths are names', async () => {
      const item = { ...fresh(), status: 'ready', 'a.b': 1, 'c[0]': 'z', '#x': true };
      await store.put({ item, when: absent });
      const when = all(where('a.b', '=', 1), where('c[0]', '=', 'z'), where('#x', '=', true));
      const update = { key: item, when, changes: { status: to('done'), 'a.b': plus(1) } };
      expect(told(await store.update(update))).toEqual({
        written: true,
        item: { ...item, status: 'done', 'a.b': 2 },
      });
    });

    test('of writes at the same time with one condition exactly one wins', async () => {
      const key = fresh();
      const claims = Array.from({ length: 8 }, (_, n) =>
        store.update({ key, when: missing('owner'), changes: { owner: to(`o${n}`), fence: plus(1) } }),
      );
      const results = await Promise.all(claims);
      expect(results.filter(({ written }) => written)).toHaveLength(1);
      expect(await store.get(key)).toMatchObject({ fence: 1 });
    });

    test('what was handed in or out is no way into the store', async () => {
      const tags = new Set(['a']);
      const item = { ...fresh(), tags };
      await store.put({ item, when: always });
      tags.add('b');
      const read = (await store.get(item)) as Item;
      (read['tags'] as Set<string>).add('c');
      expect(await store.get(item)).toEqual({ ...item, tags: new Set(['a']) });
    });
  });

  describe('conditions', () => {
    const stored = {
      n: 5,
      m: 5,
      text: 'b',
      other: 'a',
      yes: true,
      tags: new Set(['x', 'y']),
      same: new Set(['y', 'x']),
      list: ['p', 'q'],
    };
    const cases: [string, Condition, boolean][] = [
      ['= equal', where('n', '=', 5), true],
      ['= other', where('n', '=', 6), false],
      ['= other type', where('n', '=', '5'), false],
      ['= boolean', where('yes', '=', true), true],
      ['= missing', where('none', '=', 1), false],
      ['<> equal', where('n', '<>', 5), false],
      ['<> other type', where('n', '<>', '5'), true],
      ['<> missing', where('none', '<>', 1), true],
      ['< ', where('n', '<', 6), true],
      ['< equal', where('n', '<', 5), false],
      ['<= equal', where('n', '<=', 5), true],
      ['> ', where('n', '>', 4), true],
      ['> equal', where('n', '>', 5), false],
      ['>= equal', where('n', '>=', 5), true],
      ['>= greater', where('n', '>=', 6), false],
      ['< text', where('text', '<', 'c'), true],
      ['< other type', where('text', '<', 9), false],
      ['< missing', where('none', '<', 9), false],
      ['>= missing', where('none', '>=', 0), false],
      ['same as', sameAs('n', '=', 'm'), true],
      ['same as, sets', sameAs('tags', '=', 'same'), true],
      ['not same as', sameAs('n', '<>', 'm'), false],
      ['same as, both missing', sameAs('none', '=', 'neither'), false],
      ['at most another, both missing', sameAs('none', '<=', 'neither'), false],
      ['not same as, both missing', sameAs('none', '<>', 'neither'), true],
      ['greater than another', sameAs('text', '>', 'other'), true],
      ['same as, one missing', sameAs('n', '=', 'none'), false],
      ['not same as, one missing', sameAs('n', '<>', 'none'), true],
      ['one of', oneOf('text', ['a', 'b']), true],
      ['one of others', oneOf('text', ['a', 'c']), false],
      ['one of none', oneOf('text', []), false],
      ['one of, missing', oneOf('none', ['a']), false],
      ['present', present('n'), true],
      ['present, missing', present('none'), false],
      ['missing', missing('none'), true],
      ['missing, present', missing('n'), false],
      ['includes a member', { attr: 'tags', includes: 'x' }, true],
      ['includes no member', { attr: 'tags', includes: 'z' }, false],
      ['includes, list', { attr: 'list', includes: 'q' }, true],
      ['includes, missing', { attr: 'none', includes: 'x' }, false],
      ['all of none', all(), true],
      ['any of none', any(), false],
      ['all of none inside', any(all(), where('n', '=', 0)), true],
      ['all', all(where('n', '=', 5), present('tags')), true],
      ['all, one false', all(where('n', '=', 5), missing('tags')), false],
      ['any, one true', any(where('n', '=', 0), all(present('n'), where('text', '=', 'b'))), true],
      ['any, none true', any(where('n', '=', 0), any()), false],
      ['absent', absent, false],
    ];
    test.each(cases)('%s', async (_name, when, expected) => {
      const item = { ...fresh(), ...stored };
      await store.put({ item, when: always });
      expect((await store.put({ item, when })).written).toBe(expected);
    });

    test('nothing is there: only what needs nothing holds', async () => {
      expect((await store.put({ item: fresh(), when: where('n', '<>', 1) })).written).toBe(true);
      expect((await store.put({ item: fresh(), when: where('n', '=', 1) })).written).toBe(false);
      expect((await store.put({ item: fresh(), when: absent })).written).toBe(true);
    });
  });

  describe('reads', () => {
    test('a partition in the order of its keys, and nothing of another', async () => {
      const { PK } = fresh();
      const other = fresh();
      for (const SK of ['STEP#b', 'RUN', 'STEP#B', 'STEP#a1'])
        await store.put({ item: { PK, SK, is: SK }, when: always });
      await store.put({ item: other, when: always });
      expect((await store.partition(PK)).map(({ SK, is }) => [SK, is])).toEqual(
        ['RUN', 'STEP#B', 'STEP#a1', 'STEP#b'].map((SK) => [SK, SK]),
      );
      expect(await store.partition(`${PK}#none`)).toEqual([]);
    });

    test('a partition larger than a page (1 MB) comes whole', async () => {
      const { PK } = fresh();
      const count = 5;
      for (let n = 0; n < count; n++)
        await store.put({ item: { PK, SK: `${n}`, filler: 'x'.repeat(300_000) }, when: always });
      expect((await store.partition(PK)).map(({ SK }) => SK)).toEqual(['0', '1', '2', '3', '4']);
    });

    test('open runs of one shard that are due, oldest first, keys only', async () => {
      const shard = `OPEN#${fresh().PK}`;
      const keys = [30, 10, 20, 40].map((checkAt) => ({ ...fresh(), openShard: shard, checkAt }));
      const [thirty, ten, twenty, forty] = keys.map(({ PK, SK }) => ({ PK, SK }));
      for (const item of keys) await store.put({ item: { ...item, more: 1 }, when: always });
      await store.put({ item: { ...fresh(), openShard: `${shard}!`, checkAt: 1 }, when: always });
      expect(await store.openRuns(shard, 30, 10)).toEqual([ten, twenty, thirty]);
      expect(await store.openRuns(shard, 99, 2)).toEqual([ten, twenty]);
      const closed = { key: twenty ?? fresh(), when: always, changes: { openShard: gone, checkAt: gone } };
      await store.update(closed);
      expect(await store.openRuns(shard, 99, 10)).toEqual([ten, thirty, forty]);
    });
  });
}

// Small worlds, so that random writes meet one another.
const attrs = ['n', 'm', 's', 't', 'tags', 'more'] as const;
const attr = fc.constantFrom(...attrs);
const word = fc.constantFrom('', 'a', 'b', 'é', '😀', '～');
const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, 1_795_983_862_469));
const scalar = fc.oneof(word, number, fc.boolean());
const wordSet = fc.array(word, { maxLength: 3 }).map((words) => new Set(words));
const value = fc.oneof(
  scalar,
  wordSet,
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('p', 'q'), fc.oneof(scalar, wordSet)),
);
const equality = fc.constantFrom('=' as const, '<>' as const);
const comparison = fc.constantFrom('=', '<>', '<', '<=', '>', '>=');
const simple: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ attr, is: comparison, value: fc.oneof(word, number) }) as fc.Arbitrary<Condition>,
  fc.record({ attr, is: equality, value: fc.boolean() }),
  fc.record({ attr, is: equality, sameAs: attr }).filter((same) => same.attr !== same.sameAs),
  fc.record({ attr, oneOf: fc.array(word, { maxLength: 3 }) }),
  fc.record({ attr, present: fc.boolean() }),
  fc.record({ attr: fc.constant('tags'), includes: fc.constantFrom('a', 'b', '😀') }),
  fc.constant(absent),
);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 3, arbitrary: simple },
  { weight: 1, arbitrary: fc.array(simple, { maxLength: 3 }).map((parts) => all(...parts)) },
  { weight: 1, arbitrary: fc.array(simple, { maxLength: 3 }).map((parts) => any(all(...parts), ...parts)) },
  { weight: 2, arbitrary: fc.constant(all()) },
);
const change = fc.oneof(
  fc.record({ to: value }),
  fc.record({ ifMissing: value }),
  fc.record({ copyOf: attr }),
  fc.record({ plus: fc.integer({ min: -5, max: 5 }) }),
  fc.record({ addToSet: fc.array(word, { maxLength: 2 }) }),
  fc.constant(gone),
);
const SK = fc.constantFrom('A', 'B');
const write = fc.oneof(
  fc.record({ SK, when: condition, changes: fc.dictionary(attr, change, { maxKeys: 4 }) }),
  fc.record({ SK, when: condition, item: fc.dictionary(attr, value, { maxKeys: 4 }) }),
);

/**
 * The same random writes to two stores give the same answers and leave the same items.
 * @param runs how many sequences of up to 12 writes are tried
 */
export function sameStore(one: () => Promise<Store>, two: () => Promise<Store>, runs: number): void {
  test('random writes give the same answers and leave the same items', async () => {
    const [left, right] = await Promise.all([one(), two()]);
    let written = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), async (writes) => {
        const { PK } = fresh();
        const doing = async (store: Store, step: (typeof writes)[number]) => {
          try {
            const { written, item } =
              'item' in step
                ? await store.put({ item: { ...step.item, PK, SK: step.SK }, when: step.when })
                : await store.update({ key: { PK, SK: step.SK }, when: step.when, changes: step.changes });
            // What a caller reads of it: an adapter may keep more.
            return { written, item };
          } catch {
            return 'refused as a mistake';
          }
        };
        for (const step of writes) {
          const [a, b] = await Promise.all([doing(left, step), doing(right, step)]);
          expect(b).toEqual(a);
          if (typeof a === 'object') a.written ? written++ : refused++;
        }
        expect(await right.partition(PK)).toEqual(await left.partition(PK));
      }),
      { numRuns: runs },
    );
    // A property that never writes, or is never refused, has shown nothing.
    expect(written).toBeGreaterThan(runs);
    expect(refused).toBeGreaterThan(runs / 4);
  });
}
