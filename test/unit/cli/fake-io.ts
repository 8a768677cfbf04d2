import type { Io } from '#cli/screen.ts';

/** Streams that remember; a pipe unless `columns` make it a terminal. */
export function fakeIo(
  options: {
    readonly columns?: number;
    readonly env?: Io['env'];
    readonly stdin?: string;
    /** Whether a person sits at the keyboard. Default false. */
    readonly typed?: boolean;
  } = {},
) {
  const { columns, env = {}, stdin = '', typed = false } = options;
  const written = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => ({
    write: (text: string) => {
      written[name] += text;
    },
    ...(columns !== undefined && { isTTY: true, columns }),
  });
  async function* input() {
    yield stdin;
  }
  const io: Io = {
    stdin: Object.assign(input(), { isTTY: typed }),
    stdout: stream('out'),
    stderr: stream('err'),
    env,
  };
  return { io, out: () => written.out, err: () => written.err };
}
