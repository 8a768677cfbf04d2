import { inject } from 'vitest';
import { connect } from '#cli/connection.ts';
import { runCommand } from '#cli/program.ts';

/** The command line itself, in this process, on the suite's cloud. */
export async function edow(...argv: string[]) {
  const stage = inject('target').mapsTenants ? 'local' : (process.env['EDOW_TEST_STAGE'] ?? 'dev');
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  async function* nobody() {}
  const io = { stdin: nobody(), stdout: stream('out'), stderr: stream('err'), env: {} };
  const flags = ['--stage', stage, '--state-dir', '/nowhere', '--json'];
  const exitCode = await runCommand([...argv, ...flags], io, { connect });
  return { exitCode, said: written.err, result: written.out === '' ? undefined : JSON.parse(written.out) };
}
