import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const PACKAGES = {
  '': { name: 'a-clone' },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/other-platform': { version: '2.0.0', optional: true },
};
const INSTALLED = { 'node_modules/a': { version: '1.0.0' } };

let root: string;
let tools: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'edow-bootstrap-'));
  tools = join(root, 'tools');
  for (const folder of ['bin', 'tools']) mkdirSync(join(root, folder));
  cpSync('bin/bootstrap.js', join(root, 'bin/bootstrap.js'));
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: PACKAGES }));
  script('bin/edow.ts', 'console.log("cli", ...process.argv.slice(2)); process.exitCode = 3;');
  symlinkSync(process.execPath, join(tools, 'node'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function script(path: string, text: string): void {
  writeFileSync(join(root, path), text);
}

function modules(packages: object): void {
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
  rmSync(join(root, 'node_modules/.bin/node'), { force: true });
  symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'));
}

/** An npm that does `lines` and leaves a mark with its arguments. */
function npm(lines: string): void {
  writeFileSync(join(tools, 'npm'), `#!/bin/sh\necho "$@" > ${root}/npm-was-called\n${lines}\n`, {
    mode: 0o755,
  });
}

const install = () => `
mkdir -p node_modules/.bin
echo 'npm says something'
echo '${JSON.stringify({ packages: INSTALLED })}' > node_modules/.package-lock.json
ln -sf ${process.execPath} node_modules/.bin/node`;

const wasInstalled = () => existsSync(join(root, 'npm-was-called'));

function bootstrap(...args: string[]) {
  const env = { PATH: `${tools}:/usr/bin:/bin` };
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin/bootstrap.js'), ...args], {
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('bootstrap', () => {
  it('installs on a bare clone, keeps standard output for the script, and ends with its code', () => {
    npm(install());
    const run = bootstrap('start', 'order');
    expect(run).toMatchObject({ status: 3, stdout: 'cli start order\n' });
    expect(run.stderr).toContain('npm ci');
    expect(run.stderr).toContain('npm says something');
  });

  it('runs a named script of the project', () => {
    modules(INSTALLED);
    script('bin/demo.ts', 'const n: number = 7; console.log("demo", n, process.argv[2]);');
    expect(bootstrap('bin/demo.ts', 'x')).toEqual({ status: 0, stdout: 'demo 7 x\n', stderr: '' });
  });

  it('installs nothing when the contents agree, whatever the times say', () => {
    npm('exit 1');
    modules(INSTALLED);
    const later = new Date(Date.now() + 60_000);
    utimesSync(join(root, 'package-lock.json'), later, later);
    expect(bootstrap().status).toBe(3);
    expect(wasInstalled()).toBe(false);
  });

  it.each([
    ['another version is there', { 'node_modules/a': { version: '1.0.1' } }],
    ['a package is missing', {}],
    [
      'a package is there that the lockfile does not know',
      { ...INSTALLED, 'node_modules/b': { version: '1.0.0' } },
    ],
  ])('installs when %s', (_, present) => {
    npm(install());
    modules(present);
    expect(bootstrap().status).toBe(3);
    expect(wasInstalled()).toBe(true);
  });

  it.each([
    [
      'npm is missing',
      () => rmSync(join(tools, 'npm'), { force: true }),
      'npm was not found',
      'Install Node.js 20',
    ],
    ['npm fails', () => npm('exit 1'), 'npm ci failed', 'Check the network'],
    [
      'install scripts are off',
      () => npm('mkdir node_modules'),
      'brought no program',
      'ignore-scripts false',
    ],
  ])('says what to do when %s', (_, prepare, problem, nextStep) => {
    prepare();
    const PATH = tools; // no other npm
    symlinkSync('/bin/sh', join(tools, 'sh'));
    symlinkSync('/bin/mkdir', join(tools, 'mkdir'));
    const run = spawnSync(process.execPath, [join(root, 'bin/bootstrap.js')], {
      env: { PATH },
      encoding: 'utf8',
    });
    expect(run.status).toBe(1);
    expect(run.stdout).toBe('');
    expect(run.stderr).toContain(problem);
    expect(run.stderr).toContain(nextStep);
  });

  it('refuses a script that is not there', () => {
    expect(bootstrap('bin/nope.ts')).toMatchObject({ status: 1, stdout: '' });
  });

  it('passes a signal on and waits for what the script makes of it', async () => {
    modules(INSTALLED);
    script(
      'bin/wait.ts',
      'process.on("SIGTERM", () => process.exit(42)); console.log("ready"); setInterval(() => {}, 1000);',
    );
    const child = spawn(process.execPath, [join(root, 'bin/bootstrap.js'), 'bin/wait.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.once('data', () => child.kill('SIGTERM'));
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(42);
  });
});
