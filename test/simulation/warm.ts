/** Warm workers: a process serves one invocation after the other and keeps what it holds in memory. */
import type { Store } from '#core/store.ts';
import { worker } from '#core/worker.ts';
import type { Actor } from './actors.ts';
import type { StageParts } from './stages.ts';
import { CONTRACTS } from './tasks.ts';

export interface WarmWorker {
  readonly process: ReturnType<typeof worker>['process'];
  /** Whose invocation it serves now. */
  serve(actor: Actor): void;
}

/** A process whose ports are those of the invocation at hand. */
function warmWorker(
  { tables, portsFor, handlerFor }: StageParts,
  first: Actor,
  pool: string | undefined,
): WarmWorker {
  let store = tables.store(first);
  let ports = portsFor(first);
  let run = handlerFor(first);
  let actor = first;
  const current: Store = {
    get: (key) => store.get(key),
    update: (update) => store.update(update),
    put: (put) => store.put(put),
    transact: (updates, others) => store.transact(updates, others),
    partition: (pk) => store.partition(pk),
    openRuns: (shard, until, limit) => store.openRuns(shard, until, limit),
  };
  const { process } = worker({
    store: current,
    payloads: {
      put: (key, text) => ports.payloads.put(key, text),
      get: (pointer, tenant) => ports.payloads.get(pointer, tenant),
    },
    clock: { now: () => actor.clock.now() },
    ids: ports.ids,
    handlers: new Map(
      [...CONTRACTS].map(([type, contract]) => [
        type,
        { contract, run: (input, context) => run(input, context) },
      ]),
    ),
    version: 'v1',
    ...(pool !== undefined && { pool }),
  });
  return {
    process,
    serve(next) {
      actor = next;
      store = tables.store(next);
      ports = portsFor(next);
      run = handlerFor(next);
    },
  };
}

/** Processes of one function. One that is killed is gone; one that is idle serves the next invocation. */
/** @param pool name of an ordered pool */
export function warmWorkers(parts: StageParts, pool: string | undefined) {
  const idle: WarmWorker[] = [];
  return {
    take(actor: Actor): WarmWorker {
      const warm = idle.pop() ?? warmWorker(parts, actor, pool);
      warm.serve(actor);
      return warm;
    },
    giveBack: (warm: WarmWorker): void => void idle.push(warm),
  };
}
