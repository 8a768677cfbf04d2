/** What one order costs in requests: counted from the cloud's audit trail; what no caller sends is derived. */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { toAttributes } from '#adapters/attribute-value.ts';
import { unitsOf } from '#adapters/capacity.ts';
import type { Item } from '#core/store.ts';
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX, OPEN_INDEX } from '#core/tables.ts';
import type { Recorded } from './aws/trail.ts';

/**
 * USD per million, list prices of us-east-1 (2026): the same that the cost table of the architecture uses. Lambda's
 * compute time, storage and data transfer are not in.
 */
export const PRICES = {
  transition: 25,
  writeUnit: 0.625,
  readUnit: 0.125,
  publish: 0.5,
  queueRequest: 0.4,
  apiRequest: 1,
  invocation: 0.2,
} as const;

export interface Counted {
  /** `dynamodb.UpdateItem` -> requests. */
  readonly requests: Readonly<Record<string, number>>;
  /** By AWS's published rule, from the bytes of the items; index entries are in. */
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly commands: number;
  readonly events: number;
}

const INDEXES = [OPEN_INDEX, BY_WORKFLOW_INDEX, BY_STATUS_INDEX];

type Attributes = Record<string, AttributeValue>;

/**
 * @param recorded of the functions, for this run only
 * @param items of the run as they are now; they hardly shrink, so the units are those of the writes or a little more
 */
export function count(recorded: readonly Recorded[], items: readonly Item[], eventsTopic: string): Counted {
  const requests: Record<string, number> = {};
  let writeUnits = 0;
  let readUnits = 0;
  let commands = 0;
  let events = 0;
  const stored = new Map(items.map((item) => [`${item.PK} ${item.SK}`, toAttributes(item)]));
  for (const { service, action, parameters } of recorded) {
    const name = `${service}.${action}`;
    requests[name] = (requests[name] ?? 0) + 1;
    if (service === 'sns') {
      if (parameters['TopicArn'] === eventsTopic) events += 1;
      else commands += 1;
    }
    if (service !== 'dynamodb') continue;
    const units = unitsOf(action, parameters, { response: responseOf(action, parameters, stored) }, INDEXES);
    writeUnits += (units?.write ?? 0) + (units?.indexWrite ?? 0);
    readUnits += units?.read ?? 0;
  }
  return { requests, writeUnits, readUnits, commands, events };
}

/** What the call answered or wrote, from the items as they are now. */
function responseOf(
  action: string,
  parameters: Recorded['parameters'],
  stored: ReadonlyMap<string, Attributes>,
) {
  const key = parameters['Key'] as { PK?: { S?: string }; SK?: { S?: string } } | undefined;
  const item = stored.get(`${key?.PK?.S} ${key?.SK?.S}`);
  if (action === 'Query') return { Items: [...stored.values()] };
  if (item === undefined) return {};
  return action === 'GetItem' ? { Item: item } : { Attributes: item };
}

export interface Derived {
  /** Each message of a queue is received once and deleted once, if none come in batches. */
  readonly queueRequests: number;
  /** Trigger, close, and for each task dispatch, worker, collect; for each event relay and project. */
  readonly invocations: number;
}

export const derive = ({ commands, events }: Counted): Derived => ({
  queueRequests: 2 * (commands + events),
  invocations: 2 + 3 * commands + 2 * events,
});

export interface Price {
  readonly what: string;
  /** USD per million orders. */
  readonly usd: number;
  readonly isDerived: boolean;
}

export function pricesOf(counted: Counted, derived: Derived, transitions: number): Price[] {
  const { writeUnits, readUnits, commands, events } = counted;
  return [
    price(`Step Functions: ${transitions} states entered`, transitions * PRICES.transition),
    price(`DynamoDB: ${writeUnits} write units`, writeUnits * PRICES.writeUnit),
    price(`DynamoDB: ${readUnits} read units`, readUnits * PRICES.readUnit),
    price(`SNS: ${commands} commands, ${events} events`, (commands + events) * PRICES.publish),
    price('HTTP API: 1 request', PRICES.apiRequest),
    price(
      `SQS: ${derived.queueRequests} receives and deletes`,
      derived.queueRequests * PRICES.queueRequest,
      true,
    ),
    price(`Lambda: ${derived.invocations} calls`, derived.invocations * PRICES.invocation, true),
  ];
}

const price = (what: string, usd: number, isDerived = false): Price => ({ what, usd, isDerived });
