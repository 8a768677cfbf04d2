/** Puts an action of an operator on record, before it begins and after it. */
import { randomUUID } from 'node:crypto';
import { type AuditEnd, auditEntryOf, beginAuditOf, endAuditOf } from '#core/audit.ts';
import type { Connection } from './connection.ts';
import { CliError } from './errors.ts';

/** What the action notes while it runs: what is noted when it is cut short is what had been done. */
export interface AuditNotes {
  counts: Record<string, number>;
  outcome: AuditEnd['outcome'];
  why?: string;
}

/** Who acts, and when: kept on what the action changes. */
export interface Actor {
  /** ARN of the caller. */
  readonly who: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Flags and arguments as text; what was not given is left out. */
export type AuditArguments = Readonly<Record<string, string | number | boolean | undefined>>;

const given = (named: AuditArguments): Record<string, string> =>
  Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );

/**
 * Runs an action between the two writes of its entry. Nothing is done whose entry cannot be written, or whose caller
 * STS does not name.
 * @param named never a payload: an argument that holds one is named by its place
 */
export async function audited<T>(
  connection: Connection,
  action: string,
  named: AuditArguments,
  act: (notes: AuditNotes, actor: Actor) => Promise<T>,
): Promise<T> {
  const store = await connection.store();
  const actor = { who: await connection.caller(), at: Date.now() };
  const entry = auditEntryOf(action, given(named), { ...actor, nonce: randomUUID() });
  await store.put(beginAuditOf(entry));
  const notes: AuditNotes = { counts: {}, outcome: 'done' };
  const end = () => store.update(endAuditOf(entry, notes, Date.now()));
  let value: T;
  try {
    value = await act(notes, actor);
  } catch (error) {
    Object.assign(notes, { outcome: 'failed', why: whyOf(error) });
    await end().catch(() => {}); // the entry stays `begun`; what went wrong first is what must be told
    throw error;
  }
  await end().catch((cause) => {
    throw new CliError(
      'audit_incomplete',
      `"${action}" has ended, but its audit entry could not be completed: it stays "begun"`,
      'Nothing has to be repeated. See the entry: npx edow audit --since 1d',
      { cause },
    );
  });
  return value;
}

/** Our own errors say what is wrong without payloads; of others only the name is kept. */
const whyOf = (error: unknown): string => {
  if (error instanceof CliError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.name : 'unknown';
};
