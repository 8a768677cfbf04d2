/**
 * The local cloud's audit trail: every request that the functions sent, as CloudTrail tells it. On AWS the trail keeps
 * no requests to items and messages by default, so this is for the local cloud.
 */
import { CliError } from '../errors.ts';
import { signedFetch } from './signed-api.ts';

export interface Recorded {
  /** `dynamodb`, `sns`, `states` ... */
  readonly service: string;
  readonly action: string;
  readonly accessKey: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface Trail {
  record(on: boolean): Promise<void>;
  /** What was recorded between two times (epoch milliseconds), in no order. */
  between(from: number, until: number): Promise<readonly Recorded[]>;
}

interface Event {
  readonly EventId: string;
  /** Epoch seconds. */
  readonly EventTime: number;
  readonly EventName: string;
  readonly EventSource: string;
  readonly AccessKeyId?: string;
  readonly CloudTrailEvent: string;
}

const PAGE = 50; // CloudTrail's limit

export function localTrail(
  endpoint: string,
  region: string,
  credentials: Parameters<typeof signedFetch>[3],
): Trail {
  const send = signedFetch(endpoint, 'cloudtrail', region, credentials);

  async function page(from: number, until: number): Promise<readonly Event[]> {
    const response = await send({
      method: 'POST',
      path: '/',
      headers: {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': 'CloudTrail_20131101.LookupEvents',
      },
      body: JSON.stringify({ StartTime: from, EndTime: until, MaxResults: PAGE }),
    });
    if (!response.ok) throw notReadable(`LookupEvents answered ${response.status}`);
    return ((await response.json()) as { Events?: Event[] }).Events ?? [];
  }

  return {
    async record(on) {
      // The emulator's own switch; off by default, as every request costs it memory.
      const response = await fetch(`${endpoint}/_ministack/config`, {
        method: 'POST',
        body: JSON.stringify({ 'cloudtrail._recording_enabled': String(on) }),
      });
      if (!response.ok) throw notReadable(`it cannot be switched (${response.status})`);
    },
    async between(from, until) {
      const found = new Map<string, Event>();
      let end = until / 1000;
      for (;;) {
        // Newest first, and without a cursor: the next page ends where this one did.
        const events = await page(from / 1000, end);
        const before = found.size;
        for (const event of events) found.set(event.EventId, event);
        if (found.size === before) return [...found.values()].map(recorded);
        end = events.at(-1)?.EventTime ?? end;
      }
    },
  };
}

function recorded(event: Event): Recorded {
  const { requestParameters } = JSON.parse(event.CloudTrailEvent) as {
    requestParameters?: Record<string, unknown>;
  };
  const parameters = requestParameters ?? {};
  return {
    service: event.EventSource.replace('.amazonaws.com', ''),
    // Services with a query protocol name their action in the body.
    action: typeof parameters['Action'] === 'string' ? parameters['Action'] : event.EventName,
    accessKey: event.AccessKeyId ?? '',
    parameters,
  };
}

const notReadable = (why: string): CliError =>
  new CliError(
    'no_trail',
    `the audit trail of the local cloud cannot be read: ${why}`,
    'Start it anew: npx edow down, then npx edow demo',
  );
