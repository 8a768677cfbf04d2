/** The flags that choose dead letters, the same for every command that acts on them. */
import type { Command } from 'commander';
import { runId, type SharedFlags, span, taskId } from './leaf.ts';
import type { LetterFilter } from './letter-filter.ts';

export interface LetterFlags extends SharedFlags {
  readonly pool?: string;
  readonly run?: string;
  readonly task?: string;
  readonly type?: string;
  /** Of the letters; `--reason` of a command may be its own reason. */
  readonly because?: string;
  readonly fingerprint?: string;
  readonly tenant?: string;
  readonly workflow?: string;
  /** Milliseconds. */
  readonly since?: number;
  readonly message?: string;
}

/** @param reasonFlag how the reason on record is chosen: `--reason`, or another name where that is taken */
export const addLetterFlags = (command: Command, reasonFlag: '--reason' | '--because'): Command =>
  command
    .option('--pool <name>', 'of this pool or subscriber only')
    .option('--run <id>', 'of this run only', runId)
    .option('--task <id>', 'of this task only', taskId)
    .option('--type <name>', 'of this command type only')
    .option(`${reasonFlag} <name>`, 'that died for this reason only, as dlq ls shows it')
    .option('--fingerprint <hash>', 'of this cause only')
    .option('--tenant <name>', 'of this tenant only')
    .option('--workflow <name>', 'of this workflow only')
    .option('--since <span>', 'that died within this time only, as 2h or 7d', span)
    .option('--message <id>', "this letter only, by SQS's message id");

/** For the audit: which letters were meant, but for the reason that they died for, whose flag differs. */
export function namedLetters({ since, ...flags }: LetterFlags) {
  const { pool, run, task, type, fingerprint, tenant, workflow, message } = flags;
  const age = since === undefined ? undefined : `${since / 1000}s`;
  return { pool, run, task, type, fingerprint, tenant, workflow, message, since: age };
}

/** @param reason that the letters died for, from whichever flag says so */
export function filterOf(flags: LetterFlags, reason: string | undefined, now: number): LetterFilter {
  const { run, task, type, fingerprint, tenant, workflow, since, message } = flags;
  return {
    ...(run !== undefined && { run }),
    ...(task !== undefined && { task }),
    ...(type !== undefined && { type }),
    ...(reason !== undefined && { reason }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(tenant !== undefined && { tenant }),
    ...(workflow !== undefined && { workflow }),
    ...(since !== undefined && { since: now - since }),
    ...(message !== undefined && { message }),
  };
}
