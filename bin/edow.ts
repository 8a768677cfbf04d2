/** The operator CLI: `npx edow --help`. */
import { connect } from '#cli/connection.ts';
import { runCommand } from '#cli/program.ts';

// A reader that went away (`edow runs | head -1`) has seen enough.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));

const onInterrupt = (act: () => Promise<number>): void => {
  // A second Ctrl-C, after the default was restored, ends at once.
  process.once('SIGINT', async () => process.exit(await act()));
};
const exitCode = await runCommand(process.argv.slice(2), process, { connect, onInterrupt });
// Not left to the event loop: idle connections would keep the process for seconds.
process.exit(exitCode);
