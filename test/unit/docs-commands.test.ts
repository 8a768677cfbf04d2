/** Every command of the documents is one that there is, with flags that it knows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../lib/cli/program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const texts = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
].map(read);

/** Calls in code, inline or in blocks, up to what ends a call. */
const callsOf = (start: string): string[] => [
  ...new Set(
    texts.flatMap((text) =>
      [...text.matchAll(new RegExp(`${start}((?: [\\w./:@=-]+| '[^']*'| "[^"]*")*)`, 'g'))].map(
        ([, rest = '']) => rest.trim(),
      ),
    ),
  ),
];

/** Runs the help of a call's command: nothing is started. */
async function helpOf(words: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const stream = {
    write: (part: string) => {
      text += part;
    },
  };
  const io = { stdout: stream, stderr: stream, stdin: Readable.from([]), env: {} };
  const connect = () => Promise.reject(new Error('documents connect to nothing'));
  const code = await runCommand([...words, '--help'], io as never, { connect });
  return { code, text };
}

const edow = callsOf('npx edow').filter((call) => call !== '');

describe('npx edow', () => {
  test('is shown with most of its commands', () => {
    expect(new Set(edow.map((call) => call.split(' ')[0])).size).toBeGreaterThanOrEqual(10);
  });

  test.each(edow)('%s', async (call) => {
    const words = call.split(' ');
    const command = words
      .slice(0, ['dlq', 'task', 'pool'].includes(words[0] ?? '') ? 2 : 1)
      .filter((word) => !word.startsWith('-'));
    const { code, text } = await helpOf(command);
    expect(code).toBe(0);
    expect(text).toContain(command.length === 0 ? 'Usage: edow' : `Usage: edow ${command.join(' ')}`);
    for (const [flag] of call.matchAll(/--[a-z-]+/g)) expect(text).toContain(flag);
  });

  test('a command that is not there would be seen', async () => {
    expect((await helpOf(['reply'])).text).not.toContain('Usage: edow reply');
  });
});

test('npm scripts are there', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = callsOf('npm run').map((call) => call.split(' ')[0] ?? '');
  expect(named.length).toBeGreaterThanOrEqual(4);
  for (const name of named) expect(Object.keys(scripts)).toContain(name);
});
