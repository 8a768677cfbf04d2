/** What the product needs of any cloud, looked at in the one at hand. Prints the table; new and vanished differences fail. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lanes } from '#core/lanes.ts';
import { suite } from '#test/cloud/suite.ts';
import { type Bench, conformanceBench } from './bench.ts';
import { type Check, type Finding, findingOf } from './checks.ts';
import { deployedParts } from './deployed-parts.ts';
import { functions } from './functions.ts';
import { type CloudName, KNOWN_DIFFERENCES } from './known-differences.ts';
import { machines } from './machines.ts';
import { ordered } from './ordered.ts';
import { queuesAndTopics } from './queues-and-topics.ts';
import { tables } from './tables.ts';

const CHECKS: readonly Check[] = [
  ...queuesAndTopics,
  ...ordered,
  ...tables,
  ...machines,
  ...functions,
  ...deployedParts,
];
/** Checks at the same time: each waits most of its time. */
const LANES = 6;

const { system } = suite();

/** By their own health pages; what has no endpoint of its own is AWS. */
async function cloudAtHand(endpoint = process.env['AWS_ENDPOINT_URL']): Promise<CloudName> {
  if (!endpoint) return 'aws';
  for (const name of ['ministack', 'localstack'] as const) {
    const page = await fetch(`${endpoint}/_${name}/health`).catch(() => undefined);
    if (page?.ok && (page.headers.get('content-type') ?? '').includes('json')) return name;
  }
  throw new Error(`${endpoint} is no cloud that this suite knows: add it to known-differences.ts`);
}

const kindOf = (finding: Finding): 'works' | 'differs' | 'missing' => {
  if (finding === 'works') return 'works';
  return 'differs' in finding ? 'differs' : 'missing';
};
const detailOf = (finding: Finding): string => {
  if (finding === 'works') return '';
  return 'differs' in finding ? finding.differs : finding.missing;
};

let bench: Bench;
let cloud: CloudName;
const found = new Map<string, Finding>();

beforeAll(async () => {
  cloud = await cloudAtHand();
  bench = conformanceBench(system);
  await lanes(CHECKS, LANES, async (check) => void found.set(check.id, await findingOf(check, bench)));
  const known = new Map(KNOWN_DIFFERENCES[cloud].map((one) => [one.check, one]));
  const rows = CHECKS.map(({ id, need }) => {
    const finding = found.get(id) ?? { missing: 'not looked at' };
    const detail = known.has(id) ? `known: ${known.get(id)?.consequence}` : detailOf(finding);
    return `${kindOf(finding).padEnd(8)} ${id.padEnd(34)} ${finding === 'works' ? need : detail}`;
  });
  const count = (kind: string) => [...found.values()].filter((finding) => kindOf(finding) === kind).length;
  console.log(
    [
      `${cloud}: ${count('works')} work, ${count('differs')} differ, ${count('missing')} are missing`,
      ...rows,
    ].join('\n'),
  );
}, 300_000);
afterAll(() => bench?.cleanUp(), 120_000);

test('every check was looked at, and each has one id', () => {
  expect(found.size).toBe(CHECKS.length);
  expect(CHECKS.length).toBeGreaterThanOrEqual(40);
  expect([...found.values()].filter((finding) => finding === 'works').length).toBeGreaterThan(
    CHECKS.length / 2,
  );
});

test('nothing differs that is not known', () => {
  const known = new Map(KNOWN_DIFFERENCES[cloud].map(({ check, kind }) => [check, kind]));
  const fresh = [...found].flatMap(([id, finding]) =>
    finding === 'works' || known.get(id) === kindOf(finding)
      ? []
      : [`${id} ${kindOf(finding)}: ${detailOf(finding)}`],
  );
  expect(fresh).toEqual([]);
});

test('every known difference is still there: take out what has gone', () => {
  const gone = KNOWN_DIFFERENCES[cloud].filter(
    ({ check }) => found.get(check) === 'works' || !found.has(check),
  );
  expect(gone).toEqual([]);
});
