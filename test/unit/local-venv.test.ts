import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LocalCloudError } from '#local/errors.ts';
import { ensureVenv } from '#local/venv.ts';

let tools: string;
let folder: string;

beforeEach(() => {
  tools = mkdtempSync(join(tmpdir(), 'edow-python-'));
  folder = join(tools, 'venv');
  vi.stubEnv('PATH', tools);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(tools, { recursive: true, force: true });
});

/** A python3 whose `-m venv FOLDER` makes a folder with itself as the Python, and whose pip does `pip`. */
function python({ version = 'echo 3.11', venv = '', pip = '' }): void {
  const text = `#!/bin/sh
PATH=/usr/bin:/bin
case "$*" in
  -c*) ${version} ;;
  "-m venv"*) ${venv || 'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"'} ;;
  *pip*) echo "$@" >> ${tools}/pip-calls; ${pip || 'true'} ;;
esac
`;
  writeFileSync(join(tools, 'python3'), text, { mode: 0o755 });
}

async function problem(): Promise<LocalCloudError> {
  const error = await ensureVenv('cloud', () => {}, folder).catch((e: unknown) => e);
  if (!(error instanceof LocalCloudError)) throw new Error(`no LocalCloudError: ${error}`);
  return error;
}

describe('ensureVenv', () => {
  it('installs by hash, once', async () => {
    python({});
    const said: string[] = [];
    const first = await ensureVenv('cloud', (line) => said.push(line), folder);
    expect(existsSync(first)).toBe(true);
    expect(await ensureVenv('cloud', (line) => said.push(line), folder)).toBe(first);
    expect(said).toHaveLength(1);
    const calls = readFileSync(join(tools, 'pip-calls'), 'utf8').trim().split('\n');
    expect(calls).toHaveLength(1);
    expect(calls[0]).toContain('--require-hashes');
    expect(calls[0]).toContain('requirements.txt');
  });

  it('keeps the two purposes apart', async () => {
    python({});
    expect(await ensureVenv('check', () => {}, folder)).not.toBe(await ensureVenv('cloud', () => {}, folder));
  });

  it('two callers at once end with one environment and nothing half made', async () => {
    python({});
    const both = await Promise.all([1, 2].map(() => ensureVenv('cloud', () => {}, folder)));
    expect(both[0]).toBe(both[1]);
    expect(readdirSync(folder).filter((name) => !name.endsWith('.log'))).toHaveLength(1);
  });

  it('no Python', async () => {
    expect(await problem()).toMatchObject({
      code: 'python_missing',
      nextStep: expect.stringContaining('apt-get install'),
    });
  });

  it('an old Python', async () => {
    python({ version: 'echo 3.8; exit 1' });
    const { code, message } = await problem();
    expect(code).toBe('python_too_old');
    expect(message).toContain('3.8');
  });

  it('no venv module', async () => {
    python({ venv: 'echo "No module named venv"; exit 1' });
    const { code, message, nextStep } = await problem();
    expect(code).toBe('venv_missing');
    expect(message).toContain('No module named venv');
    expect(nextStep).toContain('python3-venv');
  });

  it('pip fails: nothing stays that would count as installed', async () => {
    python({ pip: 'echo "no matching distribution" >&2; exit 1' });
    const { code, message } = await problem();
    expect(code).toBe('pip_failed');
    expect(message).toContain('no matching distribution');
    expect(readdirSync(folder)).toEqual(['cloud.log']);
  });
});

describe('requirements', () => {
  it.each(['requirements.txt', 'requirements-check.txt'])(
    '%s: each package by version and hash, no host',
    (file) => {
      const text = readFileSync(join('lib/local', file), 'utf8');
      const packages = text.split('\n').filter((line) => /^[a-z]/i.test(line));
      expect(packages.length).toBeGreaterThan(5);
      for (const line of packages) expect(line).toMatch(/^[\w.-]+==[\w.]+ (;.* )?\\$/);
      expect(text.match(/--hash=sha256:/g)?.length).toBeGreaterThan(packages.length);
      expect(text).not.toMatch(/https?:|--index-url|--find-links/);
    },
  );
});
