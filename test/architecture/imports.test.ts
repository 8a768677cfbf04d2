/** The arrows between folders are those of .dependency-cruiser.mjs, and the tool looked at all of them. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['bin', 'lambdas', 'lib'];

interface Report {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly { readonly rule: { readonly name: string }; readonly from: string }[];
  };
}

function cruise(root: string): Report {
  const tool = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const args = [tool, '--config', '.dependency-cruiser.mjs', '--output-type', 'json', ...FOLDERS];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (!stdout.startsWith('{')) throw new Error(`dependency-cruiser gave no report: ${stderr}`);
  return JSON.parse(stdout) as Report;
}

const sources = (folder: string): number =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  ).length;

describe('imports', () => {
  const copy = mkdtempSync(join(tmpdir(), 'edow-imports-'));
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('go one way, in every module', () => {
    const report = cruise(ROOT);
    const looked = report.modules.filter(({ source }) =>
      FOLDERS.some((folder) => source.startsWith(`${folder}/`)),
    );
    const all = FOLDERS.reduce((sum, folder) => sum + sources(folder), 0);
    expect(all).toBeGreaterThan(100);
    expect(looked.length).toBeGreaterThanOrEqual(all);
    expect(report.summary.violations).toEqual([]);
  });

  it('that go the wrong way are seen', () => {
    for (const entry of [...FOLDERS, 'package.json', 'tsconfig.json', '.dependency-cruiser.mjs'])
      cpSync(join(ROOT, entry), join(copy, entry), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    const plant = (file: string, line: string) => writeFileSync(join(copy, file), line);
    plant(
      'lib/core/planted.ts',
      "import { CLIENT } from '#adapters/client-config.ts';\nexport const planted = CLIENT;\n",
    );
    plant(
      'lib/adapters/planted.ts',
      "import { required } from '#runtime/env.ts';\nexport const planted = required;\n",
    );
    plant(
      'lib/runtime/planted.ts',
      "import { SQSClient } from '@aws-sdk/client-sqs';\nexport const planted = SQSClient;\n",
    );
    plant('lambdas/planted.ts', "import { Stack } from 'aws-cdk-lib';\nexport const planted = Stack;\n");
    const seen = cruise(copy).summary.violations.map(({ rule, from }) => `${rule.name} ${from}`);
    expect(seen.sort()).toEqual([
      'adapters-see-core lib/adapters/planted.ts',
      'cdk-at-synth-only lambdas/planted.ts',
      'core-is-pure lib/core/planted.ts',
      'sdk-in-adapters lib/runtime/planted.ts',
    ]);
  });
});
