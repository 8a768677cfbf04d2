/** The README's numbers are those of the code, of the templates, and of arithmetic. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Stack } from 'aws-cdk-lib';
import { beforeAll, describe, expect, test } from 'vitest';
import { RUNBOOK } from '#constructs/alarms.ts';
import { visibilityFor } from '#constructs/mappings.ts';
import { ENDED_SHARDS, OPEN_SHARDS } from '#core/items.ts';
import { INLINE_BYTES } from '#core/payload.ts';
import { MAX_RESUMES } from '#core/resume.ts';
import { MAX_DEFERRALS, maxReceiveCount } from '#core/retry.ts';
import { nextCheckMs, RETENTION_MS } from '#core/run-changes.ts';
import { MAX_BODY_BYTES } from '#runtime/trigger-http.ts';
import { PRICES } from '../../lib/cli/demo-cost.ts';
import { buildStage, type Resource, resources } from '../infra/edow-app.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readme = read('README.md');

/** Value of a constant that its file keeps to itself: a number, or a product of numbers. */
function constantOf(path: string, name: string): number {
  const [, text] = new RegExp(`const ${name}(?:: number)? = ([\\d_* ]+);`).exec(read(path)) ?? [];
  if (text === undefined) throw new Error(`${path} has no constant ${name}`);
  return text.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
}

/** Rows of the table below a heading, as cells. */
function rowsBelow(heading: string): string[][] {
  const after = readme.split(`${heading}`)[1] ?? '';
  const [table = ''] = /^(?:\|.*\n)+/m.exec(after) ?? [];
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const DAY = 86_400;
const KB = 1024;

describe('limits', () => {
  const retry =
    /tries: (\d+), baseSeconds: (\d+), maxSeconds: (\d+)/.exec(read('lib/core/contract.ts')) ?? [];
  const [, tries, base, max] = retry.map(Number);
  const spare = maxReceiveCount(1) - 1;
  const functionSeconds = 10;
  const minutes = (checks: number) => nextCheckMs(checks) / 60_000;

  const expected: readonly (readonly [row: string, ...texts: string[]])[] = [
    ['body of a request', `${MAX_BODY_BYTES / KB} KB`],
    ['`Idempotency-Key`', '1 to 255', `${constantOf('lib/core/trigger.ts', 'KEY_TTL_SECONDS') / DAY} days`],
    ['page of `GET /runs`', `${constantOf('lib/runtime/status-http.ts', 'MAX_LIMIT')} runs`],
    ['payload kept on its item', `${INLINE_BYTES / KB} KB`],
    ['data inside a command', `${constantOf('lib/core/dispatch.ts', 'COMMAND_DATA_BYTES') / KB} KB`],
    ['fields that states may see', `${INLINE_BYTES / KB} KB`],
    [
      'time-out of a step',
      `1 second to ${constantOf('lib/core/contract.ts', 'MAX_TIMEOUT_SECONDS') / DAY} days`,
      `${constantOf('lib/constructs/run-task.ts', 'VISIBILITY_ROUNDS')} x the queue's visibility + ${constantOf('lib/constructs/run-task.ts', 'QUEUE_MARGIN_SECONDS')} s`,
      `${2 * functionSeconds * constantOf('lib/constructs/mappings.ts', 'VISIBILITY_FACTOR') + 30} s by default`,
    ],
    [
      'tries of a task in a round',
      `${tries} by default`,
      `${constantOf('lib/core/contract.ts', 'MAX_TRIES')} at most`,
    ],
    [
      'wait between tries',
      `up to ${base} s, ${2 * (base ?? 0)} s, ${4 * (base ?? 0)} s`,
      `${max} s by default`,
    ],
    ['calls of a downstream that always answers "later"', `${MAX_DEFERRALS + 1} a round`],
    ['receives of a message', `tries + ${spare}`],
    ['worker function', `${functionSeconds} s by default`, 'visibility 6 times'],
    [
      'first look of the sweeper at a run',
      `after ${minutes(0)} minutes, then ${minutes(1)}, ${minutes(2)} ... ${minutes(99)}`,
      `${constantOf('lib/core/sweep.ts', 'RUNS_PER_SWEEP')} runs a minute`,
    ],
    ['automatic resumes of a run', `${MAX_RESUMES};`],
    [
      'items of a run',
      `${RETENTION_MS / 1000 / DAY} days`,
      `payloads ${constantOf('lib/stacks/state.ts', 'PAYLOAD_DAYS')} days`,
      `timeline entries ${(constantOf('lib/core/project.ts', 'LONGEST_TIMELINE_MS') + RETENTION_MS) / 1000 / DAY} days`,
    ],
  ];
  const rows = new Map(rowsBelow('## Limits').map(([what = '', value = '']) => [what, value]));

  test.each(expected)('%s', (row, ...texts) => {
    for (const text of texts) expect(rows.get(row)).toContain(text);
  });

  test('visibility is 6 times the time-out', async () => {
    const { Duration } = await import('aws-cdk-lib');
    expect(visibilityFor(Duration.seconds(1)).toSeconds()).toBe(6);
  });
});

describe('what is deployed', { timeout: 60_000 }, () => {
  let stacks: Stack[] = [];
  let all: Resource[] = [];
  const of = (type: string): Resource[] => all.filter(({ Type }) => Type === type);

  beforeAll(() => {
    const { state, pipeline, observability } = buildStage('prod');
    stacks = [state, pipeline, ...(observability ? [observability] : [])];
    all = [
      'AWS::CloudWatch::Alarm',
      'AWS::CloudWatch::CompositeAlarm',
      'AWS::CloudWatch::Dashboard',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Logs::LogGroup',
      'AWS::SQS::Queue',
      'AWS::KMS::Key',
      'AWS::ApiGatewayV2::Stage',
      'AWS::StepFunctions::StateMachine',
      'AWS::Events::Rule',
    ].flatMap((type) => stacks.flatMap((stack) => Object.values(resources(stack, type))));
  }, 60_000);

  const idle = (what: string) => rowsBelow('**Idle**').find(([row]) => row === what)?.[1];

  test('alarms', () => {
    expect(idle('alarms')).toBe(
      `${of('AWS::CloudWatch::Alarm').length} x 0.10 + ${of('AWS::CloudWatch::CompositeAlarm').length} composite x 0.50`,
    );
    const ofOnePool = of('AWS::CloudWatch::Alarm').filter(({ Properties }) =>
      /(?:^worker-| )shipping[ ,.]/.test(Properties.AlarmDescription),
    );
    expect(readme).toContain(
      ofOnePool.length === 5 ? '0.50 for its five alarms' : `${ofOnePool.length} alarms`,
    );
    expect(of('AWS::CloudWatch::Dashboard')).toHaveLength(1);
    expect(of('AWS::KMS::Key')).toHaveLength(0);
  });

  test('queues that are polled', () => {
    const polled = of('AWS::Lambda::EventSourceMapping').filter(
      ({ Properties }) => Properties.ScalingConfig !== undefined,
    );
    expect(idle('long polls of queues')).toContain(`${polled.length} queues x 5 pollers`);
    expect(
      of('AWS::Events::Rule').filter(({ Properties }) => Properties.ScheduleExpression !== undefined),
    ).toMatchObject([{ Properties: { ScheduleExpression: 'rate(1 minute)' } }]);
  });

  test('what prod leaves behind', () => {
    const kept = (type: string) =>
      of(type).filter(({ DeletionPolicy }) => DeletionPolicy === 'Retain').length;
    const [, stays = ''] =
      rowsBelow('## What `cdk destroy` leaves behind').find(([stage]) => stage === '`prod`') ?? [];
    expect(stays).toContain(
      `${kept('AWS::SQS::Queue')} dead-letter queues, ${kept('AWS::Logs::LogGroup')} log groups`,
    );
  });

  test('limits of queues, machine and API', () => {
    const rows = new Map(rowsBelow('## Limits').map(([what = '', value = '']) => [what, value]));
    const retentions = new Set(
      of('AWS::SQS::Queue').map(({ Properties }) => Properties.MessageRetentionPeriod),
    );
    expect(retentions).toEqual(new Set([4 * DAY, 14 * DAY]));
    expect(rows.get('commands wait')).toBe('4 days; dead letters are kept for 14 days');
    const [machine] = of('AWS::StepFunctions::StateMachine');
    expect(JSON.stringify(machine?.Properties.DefinitionString)).toContain(
      `\\"TimeoutSeconds\\":${30 * DAY}`,
    );
    expect(rows.get('execution')).toBe('30 days by default');
    expect(of('AWS::ApiGatewayV2::Stage')[0]?.Properties.DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 100,
      ThrottlingBurstLimit: 200,
    });
    expect(rows.get('requests to the API')).toBe('100 a second, 200 as burst');
  });

  test('each kind of alarm has its section in the runbook, and each such section its alarm', () => {
    const sections = read('docs/runbook.md').split(/^## /m).slice(1);
    const ofAlarms = sections
      .filter((section) => section.includes('**Meaning.**'))
      .map((section) => (section.split('\n')[0] ?? '').toLowerCase().replaceAll(' ', '-'));
    expect(ofAlarms.sort()).toEqual(Object.values(RUNBOOK).sort());
    for (const section of sections.filter((part) => part.includes('**Meaning.**')))
      expect(section).toMatch(/\*\*First look[\s\S]*(\*\*Fix\.|, fix\.)[\s\S]*\*\*Over when\*\*/);
    const named = of('AWS::CloudWatch::Alarm').map(
      ({ Properties }) => /runbook\.md#([\w-]+)$/.exec(Properties.AlarmDescription)?.[1],
    );
    expect([...new Set(named)].sort()).toEqual(ofAlarms.sort());
  });
});

/** `44 units x 0.625`, `43,200 x 0.3 s x 0.5 GB x 0.0000133334`, `A = B million x P`: the product, in USD. */
function product(text: string): number {
  const [, last] = text.split('=');
  const numbers = (part: string): number[] =>
    [...part.matchAll(/\d[\d,]*(?:\.\d+)?/g)].map(([found]) => Number(found.replaceAll(',', '')));
  const sum = (last ?? text)
    .split(' + ')
    .map((part) => numbers(part).reduce((a, b) => a * b, 1) / (part.includes('per million') ? 1e6 : 1));
  return sum.reduce((a, b) => a + b, 0);
}

describe('arithmetic', () => {
  test.each(['**Idle**', '**A run**'])('%s: each row, and the sum', (heading) => {
    const rows = rowsBelow(heading);
    const sum = rows.find(([what]) => what === 'sum');
    const parts = rows.filter(([what]) => what !== 'sum');
    expect(parts.length).toBeGreaterThanOrEqual(6);
    for (const [what, arithmetic = '', usd = ''] of parts)
      expect(product(arithmetic), what).toBeCloseTo(Number(usd), 1.5);
    expect(parts.reduce((total, [, , usd]) => total + Number(usd), 0)).toBeCloseTo(Number(sum?.[2]), 5);
  });

  test('units and calls are those that the meter pins', () => {
    const pinned = read('test/emulator/meter.test.ts');
    const sumOf = (form: RegExp): number =>
      [...pinned.matchAll(form)].reduce(
        (total, [, ...found]) => total + found.reduce((sum, each) => sum + Number(each), 0),
        0,
      );
    const counted = new Map(
      rowsBelow('**A run**').map(([what, arithmetic]) => [what, Number(arithmetic?.split(' ')[0])]),
    );
    expect(counted.get('DynamoDB writes')).toBe(sumOf(/\{ read: \d+, write: (\d+), indexWrite: (\d+) \}/g));
    expect(counted.get('DynamoDB reads')).toBe(sumOf(/\{ read: (\d+), write: \d+, indexWrite: \d+ \}/g));
    expect(counted.get('SNS')).toBe(sumOf(/'SNS\.PublishBatch': (\d+)/g));
    expect(counted.get('Lambda calls')).toBe(sumOf(/'[a-z]+',\s+(\d+),\s+\{/g));
    const [, reads, writes, indexWrites] =
      /\{ reads: (\d+), writes: (\d+), indexWrites: (\d+) \}/.exec(pinned)?.map(Number) ?? [];
    const [, look] = rowsBelow('**A run**').find(([what]) => what === "sweeper's look") ?? [];
    expect(look).toBe(
      `${(writes ?? 0) + (indexWrites ?? 0)} writes x ${PRICES.writeUnit} + ${reads} reads x ${PRICES.readUnit}`,
    );
    const [, index] = rowsBelow('**Idle**').find(([what]) => what === 'sweeper, index of open runs') ?? [];
    expect(index).toMatch(new RegExp(`^${OPEN_SHARDS + ENDED_SHARDS} queries x 43,200 x 0\\.5 read units`));
  });

  test('prices are those that the demo counts with', () => {
    const prices = new Map(
      rowsBelow('**A run**').map(([what, arithmetic]) => [what, Number(arithmetic?.split(' x ')[1])]),
    );
    expect(prices.get('Step Functions')).toBe(PRICES.transition);
    expect(prices.get('DynamoDB writes')).toBe(PRICES.writeUnit);
    expect(prices.get('DynamoDB reads')).toBe(PRICES.readUnit);
    expect(prices.get('SNS')).toBe(PRICES.publish);
    expect(prices.get('SQS')).toBe(PRICES.queueRequest);
    expect(prices.get('Lambda calls')).toBe(PRICES.invocation);
    expect(prices.get('HTTP API')).toBe(PRICES.apiRequest);
  });
});
