import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { CliError, EXIT } from '../errors.ts';
import { leaf, open, type Session, type SharedFlags, screenFor } from '../leaf.ts';
import type { Io } from '../screen.ts';

interface Flags extends SharedFlags {
  readonly input: string;
  readonly key?: string;
}

export function addStart(program: Command, session: Session): void {
  leaf(program, {
    usage: 'start <workflow>',
    summary: 'start a run through the HTTP API, by a signed request',
    examples: [
      ['npx edow start order --input order.json --key order-4711', 'one key, one run'],
      ['cat order.json | npx edow start order --input -', 'from standard input, with a new key'],
      [
        `npx edow start order --input '{"orderId":"o-1","customer":{"id":"c-1"},"lines":[{"sku":"tea","quantity":1,"unitPriceCents":450}]}'`,
        '',
      ],
    ],
    notes: ['The same key with the same input gives the same run, however often it is sent.'],
  })
    .requiredOption('--input <file|-|json>', "the run's input: a file, - for standard input, or JSON text")
    .option('--key <text>', 'idempotency key (default: a new one)')
    .action(async (workflow: string, flags: Flags) => {
      const screen = screenFor(session, flags);
      const body = await inputOf(flags.input, session.io);
      const key = flags.key ?? randomUUID();
      const api = await (await open(session, flags)).api();
      const started = await api.start(workflow, key, body);
      if (screen.json) return screen.emit({ ...started, key });
      const { id, repeated } = started;
      screen.print(repeated ? `${id}  (this key was used before: the same run)` : id);
      screen.say(`key ${key}`);
      screen.say(`Follow it: npx edow watch ${id}`);
    });
}

/** JSON text is told from a file's name by how it begins. */
async function inputOf(input: string, { stdin }: Io): Promise<string> {
  if (/^\s*[[{"]/.test(input)) return input;
  if (input === '-') {
    const parts: Buffer[] = [];
    for await (const part of stdin) parts.push(Buffer.from(part));
    return Buffer.concat(parts).toString('utf8');
  }
  try {
    return await readFile(input, 'utf8');
  } catch (error) {
    throw new CliError(
      'input_unreadable',
      `the input file ${input} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      'Name a file, - for standard input, or JSON text: npx edow start order --input order.json',
      { cause: error, exitCode: EXIT.usage },
    );
  }
}
