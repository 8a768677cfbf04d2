/** Arguments that hold JSON: the text itself, or `@file`. */
import { readFile } from 'node:fs/promises';
import { parseJson, UnsafeJson } from '#core/json-text.ts';
import { CliError, EXIT } from './errors.ts';

/**
 * @param flag for messages, `--done`
 * @param right the call as it should be
 * @throws CliError `input_unreadable`, `input_not_json`: never with what was given
 */
export async function jsonArgument(flag: string, given: string, right: string): Promise<unknown> {
  const text = given.startsWith('@') ? await fileText(flag, given.slice(1), right) : given;
  try {
    return parseJson(text);
  } catch (cause) {
    const why = cause instanceof UnsafeJson ? `${cause.pointer || 'the whole'}: ${cause.message}` : 'no JSON';
    throw new CliError('input_not_json', `${flag} cannot be taken (${why})`, right, {
      cause,
      exitCode: EXIT.usage,
    });
  }
}

async function fileText(flag: string, file: string, right: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CliError('input_unreadable', `the file ${file} of ${flag} cannot be read (${code})`, right, {
      cause,
      exitCode: EXIT.usage,
    });
  }
}
