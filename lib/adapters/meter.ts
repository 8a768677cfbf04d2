/**
 * Counts the calls that clients make and the DynamoDB capacity that they cost: for tests that hold a request budget
 * and for the demo. A client that is not watched pays nothing; one that is, a walk over each item.
 */
import { BY_STATUS_INDEX, BY_WORKFLOW_INDEX, OPEN_INDEX } from '#core/tables.ts';
import { type IndexKeys, type Request, type Response, type Units, unitsOf } from './capacity.ts';

export interface Reading {
  /** `DynamoDB.UpdateItem` -> requests on the wire, the SDK's own retries included. */
  readonly calls: Readonly<Record<string, number>>;
  readonly units: Units;
}

/** What a middleware of any client gets. */
interface Context {
  readonly clientName?: string;
  readonly commandName?: string;
}
interface Args {
  readonly input: object;
}
interface Result {
  readonly output: object;
}
type Outcome = Parameters<typeof unitsOf>[2];
type Next = (args: Args) => Promise<Result>;

/** Any client of the SDK. */
export interface Watchable {
  readonly middlewareStack: {
    // biome-ignore lint/suspicious/noExplicitAny: each client's stack is typed by its own commands
    add(middleware: any, options: { step: 'initialize'; name: string; override: boolean }): void;
  };
}

export interface Meter {
  /** Counts this client's calls from now on. A client has one meter: the last that watches it. */
  watch(client: Watchable): void;
  /** Counts one request that no SDK client makes: `S3.PutObject`. */
  note(name: string): void;
  /** What was counted since the start or the last reset. */
  reading(): Reading;
  reset(): void;
}

const NOTHING: Units = { read: 0, write: 0, indexWrite: 0 };
const KNOWN_INDEXES = [OPEN_INDEX, BY_WORKFLOW_INDEX, BY_STATUS_INDEX];

/** Only a failed condition and a cancelled transaction are paid for; a throttled or lost call is counted as a call. */
const PAID = new Set(['ConditionalCheckFailedException', 'TransactionCanceledException']);
const refusalOf = (error: unknown): Outcome | undefined =>
  error instanceof Error && PAID.has(error.name)
    ? { refusedFor: (error as { Item?: Response['Item'] }).Item }
    : undefined;

const attemptsOf = (answer: unknown): number =>
  (answer as { $metadata?: { attempts?: number } } | undefined)?.$metadata?.attempts ?? 1;

/** @param indexes of the tables in use, for the derived index writes. Default: all of ours */
export function requestMeter(indexes: readonly IndexKeys[] = KNOWN_INDEXES): Meter {
  let calls = new Map<string, number>();
  let units = NOTHING;

  const add = (name: string, requests: number): void =>
    void calls.set(name, (calls.get(name) ?? 0) + requests);

  function count(context: Context, input: object, outcome: Outcome | undefined, answer: unknown): void {
    const service = (context.clientName ?? 'unknown').replace(/Client$/, '');
    const operation = (context.commandName ?? 'unknown').replace(/Command$/, '');
    add(`${service}.${operation}`, attemptsOf(answer));
    if (service !== 'DynamoDB' || outcome === undefined) return;
    const cost = unitsOf(operation, input as Request, outcome, indexes);
    if (cost)
      units = {
        read: units.read + cost.read,
        write: units.write + cost.write,
        indexWrite: units.indexWrite + cost.indexWrite,
      };
  }

  const middleware =
    (next: Next, context: Context): Next =>
    async (args) => {
      try {
        const result = await next(args);
        count(context, args.input, { response: result.output as Response }, result.output);
        return result;
      } catch (error) {
        count(context, args.input, refusalOf(error), error);
        throw error;
      }
    };

  return {
    watch: (client) =>
      client.middlewareStack.add(middleware, { step: 'initialize', name: 'edowMeter', override: true }),
    note: (name) => add(name, 1),
    reading: () => ({ calls: Object.fromEntries([...calls].sort()), units }),
    reset: () => {
      calls = new Map();
      units = NOTHING;
    },
  };
}
