#!/usr/bin/env node
// Plain JavaScript, no dependency: this is what runs before anything is installed, on whatever Node is there.
//   node bin/bootstrap.js [script.ts] [args...]     (default script: bin/edow.ts, the operator CLI)
// Installs node_modules when it does not hold what package-lock.json says, then runs the script, a path in
// this project, by the Node that the lockfile pins. Exit code, signals and standard streams are the script's.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 20;
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const NODE = join(ROOT, 'node_modules', '.bin', 'node');

function fail(problem, nextStep) {
  process.stderr.write(`edow: ${problem}\n      ${nextStep}\n`);
  process.exit(1);
}

function packagesOf(lockfile) {
  return JSON.parse(readFileSync(join(ROOT, lockfile), 'utf8')).packages;
}

/** npm writes what it installed to node_modules/.package-lock.json, as its last act: compare the contents, not the times. */
function isInstalled() {
  let wanted;
  let present;
  try {
    wanted = packagesOf('package-lock.json');
    present = packagesOf('node_modules/.package-lock.json');
  } catch {
    return false;
  }
  return (
    existsSync(NODE) &&
    Object.keys(present).every((path) => wanted[path]?.version === present[path].version) &&
    // Packages for other platforms are optional and stay out.
    Object.keys(wanted).every((path) => path === '' || wanted[path].optional || present[path])
  );
}

function install() {
  process.stderr.write('edow: installing the packages of package-lock.json (npm ci); this happens once\n');
  // npm empties node_modules first: it must not run on a Node that lives there.
  const path = process.env.PATH.split(delimiter).filter(
    (folder) => !folder.startsWith(join(ROOT, 'node_modules')),
  );
  const { error, status } = spawnSync('npm', ['ci', '--loglevel=error'], {
    cwd: ROOT,
    env: { ...process.env, PATH: path.join(delimiter) },
    // The script's standard output must hold only what the script prints.
    stdio: ['ignore', 2, 2],
  });
  if (error?.code === 'ENOENT') {
    fail(
      'npm was not found on the PATH',
      'Install Node.js 20 or newer together with npm, then run this again.',
    );
  }
  if (error) fail(`npm could not be started: ${error.message}`, 'Check your Node.js installation.');
  if (status !== 0) {
    fail(
      'npm ci failed; its own lines are above',
      'Check the network and the npm registry in use, then run this again.',
    );
  }
  if (!existsSync(NODE)) {
    fail(
      `the package "node" brought no program for ${process.platform} ${process.arch}`,
      'It comes by an install script: npm config set ignore-scripts false, then npm ci.',
    );
  }
}

function run(script, args) {
  const child = spawn(NODE, [join(ROOT, script), ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends its Ctrl-C to both of us; a second one would read as impatience.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => fail(`${NODE} cannot be run: ${error.message}`, 'Run: npm ci'));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  fail(
    `Node.js ${process.versions.node} is too old`,
    `Install Node.js ${OLDEST_NODE} or newer, then run this again.`,
  );
}
const args = process.argv.slice(2);
const script = args[0]?.endsWith('.ts') ? args.shift() : 'bin/edow.ts';
if (!existsSync(join(ROOT, script)))
  fail(`${script} is not in ${ROOT}`, 'Name a .ts file of this project, e.g. bin/edow.ts.');
if (!isInstalled()) install();
run(script, args);
