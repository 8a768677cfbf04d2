/** Writes docs/openapi.json: `npm run openapi`, after a change of a contract's input or of an answer's shape. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openApi } from '#runtime/openapi.ts';
import { contracts } from '#workflows/contracts.ts';

const root = resolve(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
writeFileSync(join(root, 'docs/openapi.json'), `${JSON.stringify(openApi(contracts, version), null, 2)}\n`);
