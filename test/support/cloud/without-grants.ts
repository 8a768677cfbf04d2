/** Drives a path without some grants, and says why it did not go through. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PurgeQueueCommand } from '@aws-sdk/client-sqs';
import type { Deployed } from './deployed.ts';
import { type Grant, without } from './grants.ts';
import { denials } from './log-lines.ts';
import type { Pace } from './whole-path.ts';

export type Drive = (pace: Pace) => Promise<void>;

export interface Missed {
  /** For people. */
  readonly why: string;
  /** Functions that were denied a call; none: the path stopped without a word of theirs. */
  readonly denied: readonly string[];
}

/** Between two looks at the log of a function. */
const LOOK_MS = 250;

/** Letters that a path which was stopped has left behind would be in the way of the next. */
async function clear({ sqs, queues }: Deployed): Promise<void> {
  for (const { dlqUrl } of Object.values(queues)) await sqs.send(new PurgeQueueCommand({ QueueUrl: dlqUrl }));
}

/**
 * A function that is denied a call ends the drive at once: what the path would wait for afterwards is not awaited.
 * @param withinMs of each single wait
 * @returns undefined: the path went through, and nobody was denied anything
 */
export async function missedWithout(
  system: Deployed,
  grants: readonly Grant[],
  drive: Drive,
  withinMs: number,
): Promise<Missed | undefined> {
  await clear(system);
  const stages = [...new Set(grants.map(({ stage }) => stage))];
  const stop = new AbortController();
  return without(system, grants, async () => {
    const since = Date.now();
    const denied = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const stage of stages) if ((await denials(system, stage, since)).length > 0) found.push(stage);
      return found;
    };
    const watch = async (): Promise<undefined> => {
      while (!stop.signal.aborted && (await denied()).length === 0) await sleep(LOOK_MS * stages.length);
    };
    const driven = drive({ withinMs, signal: stop.signal }).then(
      () => undefined,
      (error: Error) => error.message,
    );
    const watched = watch();
    await Promise.race([driven, watched]);
    stop.abort();
    await watched;
    const stopped = await driven;
    const who = await denied();
    if (who.length > 0) return { why: `${who.join(', ')} denied`, denied: who };
    return stopped === undefined ? undefined : { why: stopped, denied: [] };
  });
}
