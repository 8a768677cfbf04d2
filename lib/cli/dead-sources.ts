/** The dead-letter queues that a name means. */
import type { Connection } from './connection.ts';
import { CliError, EXIT } from './errors.ts';
import type { DeadLetterBox, Source } from './ports.ts';

/** The queues of one name, or all. */
export async function sourcesOf(
  connection: Connection,
  pool: string | undefined,
): Promise<readonly Source[]> {
  const { sources } = await connection.pipeline();
  return named(sources, pool);
}

/** Dead-letter queues of one name, or all, those of functions among them: to look at. */
export async function boxesOf(
  connection: Connection,
  pool: string | undefined,
): Promise<readonly DeadLetterBox[]> {
  const { sources, others } = await connection.pipeline();
  return named<DeadLetterBox>([...sources, ...others], pool);
}

function named<Box extends DeadLetterBox>(boxes: readonly Box[], pool: string | undefined): readonly Box[] {
  if (pool === undefined) return boxes;
  const chosen = boxes.filter(({ name }) => name === pool);
  if (chosen.length > 0) return chosen;
  throw new CliError(
    'unknown_pool',
    `there is no pool or queue "${pool}"; there are: ${boxes.map(({ name }) => name).join(', ')}`,
    'Right: npx edow dlq ls --pool shipping',
    { exitCode: EXIT.usage },
  );
}
