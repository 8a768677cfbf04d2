/** "Write a task" of the README, done as it stands there on a copy of the project: it compiles, synthesizes and runs. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const section =
  readFileSync(join(ROOT, 'README.md'), 'utf8').split('## Write a task')[1]?.split(/^## /m)[0] ?? '';
const blocks = (language: string): string[] =>
  [...section.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  );

/** Files of the README by path, from the comment in their first line. */
const files = new Map(
  blocks('ts').map((text): [string, string] => [/^\/\/ (\S+)\n/.exec(text)?.[1] ?? '', text]),
);

/** A hunk's old and new text. */
const sides = (hunk: string): { before: string; after: string } => {
  const lines = hunk.split('\n').filter((line) => line !== '');
  const side = (...marks: string[]) =>
    lines
      .filter((line) => marks.includes(line[0] ?? ''))
      .map((line) => line.slice(1))
      .join('\n');
  return { before: side(' ', '-'), after: side(' ', '+') };
};

function applyDiff(root: string, diff: string): string[] {
  return diff
    .split(/^--- a\/.*\n/m)
    .slice(1)
    .map((part) => {
      const [head = '', ...hunks] = part.split(/^@@\n/m);
      const path = /^\+\+\+ b\/(\S+)/.exec(head)?.[1] ?? '';
      let text = readFileSync(join(root, path), 'utf8');
      for (const { before, after } of hunks.map(sides)) {
        expect(text.split(before), `${path}: ${before}`).toHaveLength(2);
        text = text.replace(before, () => after);
      }
      writeFileSync(join(root, path), text);
      return path;
    });
}

describe('"Write a task"', { timeout: 120_000 }, () => {
  const root = mkdtempSync(join(tmpdir(), 'edow-task-'));
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, args, {
      cwd: root,
      encoding: 'utf8',
      env: {
        ...process.env,
        CDK_CONTEXT_JSON: JSON.stringify({ 'aws:cdk:bundling-stacks': [] }),
        CDK_OUTDIR: join(root, 'cdk.out'),
        CDK_VALIDATION: 'false',
      },
    });

  beforeAll(() => {
    for (const name of ['bin', 'lib', 'lambdas', 'package.json', 'package-lock.json', 'tsconfig.json'])
      cpSync(join(ROOT, name), join(root, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    for (const [path, text] of files) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test('is four short files and two that gain lines', () => {
    expect([...files.keys()]).toEqual([
      'lib/workflows/greet/contract.ts',
      'lib/workflows/greet/tasks.ts',
      'lib/workflows/greet/workflow.ts',
      'lambdas/worker-mail.ts',
    ]);
    expect(blocks('diff').flatMap((diff) => applyDiff(root, diff))).toEqual([
      'lib/workflows/deployed.ts',
      'lib/workflows/contracts.ts',
    ]);
  });

  test('compiles', () => {
    const include = ['lib/workflows', 'lambdas/worker-mail.ts'];
    writeFileSync(join(root, 'tsconfig.part.json'), JSON.stringify({ extends: './tsconfig.json', include }));
    // One fault of our own: a compiler that saw nothing would not find it.
    writeFileSync(
      join(root, 'lib/workflows/wrong.ts'),
      `import { mail } from './greet/tasks.ts';\nmail.shout();\n`,
    );
    const { stdout } = run(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.part.json');
    rmSync(join(root, 'lib/workflows/wrong.ts'));
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringContaining("wrong.ts(2,6): error TS2339: Property 'shout'"),
    ]);
  });

  test('has a queue, a function and a state machine of its own', () => {
    const { status, stderr } = run('bin/app.ts');
    expect(status, stderr).toBe(0);
    const template = readFileSync(join(root, 'cdk.out/edow-dev-pipeline.template.json'), 'utf8');
    const ids = Object.keys(JSON.parse(template).Resources);
    for (const start of [
      'PoolmailWorkQueue',
      'PoolmailWorkDeadLetters',
      'PoolmailWorkerFunction',
      'WorkflowgreetMachine',
    ])
      expect(
        ids.some((id) => id.startsWith(start)),
        start,
      ).toBe(true);
  });

  test('does what its handler says', () => {
    const { stdout } = run(
      '--input-type=module',
      '--eval',
      `const { mail } = await import(${JSON.stringify(join(root, 'lib/workflows/greet/tasks.ts'))});
       console.log(JSON.stringify(await mail[0].run({ name: 'Ada' }, { idempotencyKey: 'run/SendGreeting/0' })));`,
    );
    expect(JSON.parse(stdout)).toEqual({ messageId: 'Ada, run/SendGreeting/0' });
  });
});
