/** Asks before something that cannot be taken back. */
import { CliError, EXIT } from './errors.ts';
import type { Session } from './leaf.ts';
import type { Screen } from './screen.ts';

/**
 * @param yes what `--yes` said: then nobody is asked
 * @throws CliError `not_confirmed` for any answer but yes, and where nobody is there to be asked
 */
export async function confirm(
  session: Session,
  screen: Screen,
  yes: boolean,
  question: string,
): Promise<void> {
  if (yes) return;
  const { stdin } = session.io;
  const refused = (what: string): CliError =>
    new CliError('not_confirmed', what, 'Nothing was changed. To do it without being asked add --yes', {
      exitCode: EXIT.usage,
    });
  if (stdin.isTTY !== true || screen.json) throw refused(`${question} Nobody is there to be asked`);
  screen.warn(`${question} [y/N]`);
  for await (const part of stdin) {
    if (/^y(es)?\s*$/i.test(String(part))) return;
    break;
  }
  throw refused('not confirmed');
}
