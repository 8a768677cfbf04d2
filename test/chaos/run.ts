/** `npm run chaos [orders] [seed]`: the chaos test at its full size, 125 orders (500 tasks) by default. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const [orders = '125', seed = 'edow'] = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'chaos'],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, EDOW_CHAOS_ORDERS: orders, EDOW_CHAOS_SEED: seed },
  },
);
process.exitCode = status ?? 1;
