import type { Connection } from './connection.ts';
import { CliError, EXIT } from './errors.ts';
import type { Source } from './ports.ts';

/** The queues of one name, or all. */
export async function sourcesOf(
  connection: Connection,
  pool: string | undefined,
): Promise<readonly Source[]> {
  const { sources } = await connection.pipeline();
  if (pool === undefined) return sources;
  const chosen = sources.filter(({ name }) => name === pool);
  if (chosen.length > 0) return chosen;
  throw new CliError(
    'unknown_pool',
    `there is no pool or queue "${pool}"; there are: ${sources.map(({ name }) => name).join(', ')}`,
    'Right: npx edow dlq ls --pool shipping',
    { exitCode: EXIT.usage },
  );
}
