import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything that ends in a function's bundle. */
const SOURCES = ['lambdas/**/*.ts', 'lib/{core,adapters,runtime,workflows}/**/*.ts', 'package-lock.json'];

/** Hash of the functions' source: the same code gives the same version on every machine. */
export function codeVersion(root: string): string {
  const files = globSync(SOURCES, { cwd: root }).sort();
  if (files.length < 2) throw new Error(`no source found under ${root}`);
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex').slice(0, 12);
}
