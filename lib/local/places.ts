/** Where things lie. Everything that the local cloud writes is below `.edow/`, which git ignores and anybody may delete. */

import { join } from 'node:path';

export const PROJECT_ROOT = join(import.meta.dirname, '..', '..');
export const STATE_ROOT = join(PROJECT_ROOT, '.edow');

/** The folder of the Node 24 that the lockfile pins: first on every PATH that we hand on. */
export const NODE_DIR = join(PROJECT_ROOT, 'node_modules', 'node', 'bin');
