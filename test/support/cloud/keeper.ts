/**
 * Ends a suite's local cloud together with the suite, however that ends: this process waits until the pipe from its
 * parent closes, which a Ctrl-C, a crash and a SIGKILL do as well as an orderly end.
 *   node keeper.ts <state folder>
 */
import { rm } from 'node:fs/promises';
import { stopCloud } from '#local/emulator.ts';

const [stateDir] = process.argv.slice(2);
if (stateDir === undefined) throw new Error('keeper.ts: name the state folder');

let keep = false;
process.stdin.on('data', (said) => {
  keep ||= String(said).includes('keep');
});
process.stdin.on('close', async () => {
  await stopCloud({ stateDir });
  if (!keep) await rm(stateDir, { recursive: true, force: true });
});
