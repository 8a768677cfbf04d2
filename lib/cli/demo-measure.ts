/** The last scene: one order, measured while nothing else goes on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { executionName, runKey } from '#core/items.ts';
import { REGION } from '#local/cloud.ts';
import { statesEntered } from './aws/history.ts';
import { localTrail, type Recorded } from './aws/trail.ts';
import { count, derive, type Price, pricesOf } from './demo-cost.ts';
import { type DemoStage, line, start, title, until } from './demo-stage.ts';

export interface Measured {
  readonly id: string;
  readonly requests: Readonly<Record<string, number>>;
  readonly prices: readonly Price[];
}

/** The key of the account's root in the local cloud: ours. The functions have keys of their roles. */
const ROOT = { accessKeyId: 'test', secretAccessKey: 'test' };
/** Nothing tells when the last step was retired and the last event was projected. */
const SETTLE_MS = 1_500;
const TASKS = 4;

export async function costs(stage: DemoStage): Promise<Measured> {
  const { connection } = stage;
  title(
    stage,
    7,
    'What an order costs',
    'One more order, with the audit trail of the local cloud (its CloudTrail) switched on: what the functions sent is counted there.',
  );
  const trail = localTrail(connection.target.endpoint ?? '', REGION, ROOT);
  const from = Date.now();
  await trail.record(true);
  const { id } = await start(stage, 'measured');
  // Read from the table, by our own key: asking the API would make its function send requests about this run.
  const store = await connection.store();
  await until(`run ${id} succeeded`, id, async () => {
    const run = await store.get(runKey(id));
    return run?.['status'] === 'succeeded' ? run : undefined;
  });
  await until(`run ${id} in the list of runs`, id, async () =>
    (await stage.api.runs({ status: 'succeeded', limit: 5 })).runs.find((run) => run.id === id),
  );
  await sleep(SETTLE_MS);
  await trail.record(false);

  const { machines, stubTable, eventsTopic } = await connection.pipeline();
  const recorded = (await trail.between(from, Date.now())).filter(
    (request) =>
      request.accessKey !== ROOT.accessKeyId &&
      isAbout(request, id) &&
      request.parameters['TableName'] !== stubTable,
  );
  const items = await store.partition(runKey(id).PK);
  const counted = count(recorded, items, eventsTopic);
  const transitions = await statesEntered(machines['order'] ?? '', executionName(id, 1));
  const prices = pricesOf(counted, derive(counted), transitions);
  show(stage, counted.requests, prices);
  return { id, requests: counted.requests, prices };
}

/** Answers name a token instead of their run; no other run is going on. */
const isAbout = ({ service, parameters }: Recorded, run: string): boolean =>
  service === 'states' || JSON.stringify(parameters).includes(run);

function show(stage: DemoStage, requests: Measured['requests'], prices: readonly Price[]): void {
  line(stage, 'requests that the functions sent for it (the stub downstreams not counted):');
  for (const [name, times] of Object.entries(requests).sort())
    line(stage, `  ${String(times).padStart(7)}  ${name}`);
  line(
    stage,
    `USD per million orders of ${TASKS} tasks, at list prices, without the compute time of the handlers`,
  );
  line(stage, "(states from the execution's history, units from the bytes of the items by AWS's rule):");
  for (const { what, usd, isDerived } of prices)
    line(
      stage,
      `  ${usd.toFixed(2).padStart(7)}  ${what}${isDerived ? ' (derived: no function sends these)' : ''}`,
    );
  const total = prices.reduce((all, { usd }) => all + usd, 0);
  line(stage, `  ${total.toFixed(2).padStart(7)}  in all: ${(total / TASKS).toFixed(2)} per million tasks`);
}
