/** What a test file of the deployed system works with. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inject } from 'vitest';
import { api } from './api.ts';
import { deployed } from './deployed.ts';
import { freshId } from './orders.ts';
import { ownBooks } from './own-books.ts';
import { queue } from './queue.ts';
import { stubBooks } from './stub-books.ts';

/** Of one start, while the cloud answers 5xx: cold functions on a busy machine may run into their time-out. */
const MOST_TRIES = 6;

export function suite() {
  const system = deployed(inject('target'));
  const http = api(system);
  const queues = (name: string) => {
    const urls = system.queues[name];
    if (!urls) throw new Error(`no queue ${name}; there are ${Object.keys(system.queues).join(', ')}`);
    return { work: queue(system, urls.queueUrl), dead: queue(system, urls.dlqUrl), urls };
  };
  return {
    system,
    http,
    books: ownBooks(system),
    stub: stubBooks(system),
    queues,
    /**
     * Starts a run of `order`, or of another workflow, under a key of its own and returns its id. A call that failed on its way is sent again
     * under the same key, as every client should.
     */
    async started(input: object, key = freshId('key'), workflow = 'order'): Promise<string> {
      for (let tries = 1; ; tries += 1) {
        const answer = await http.start(workflow, key, input);
        if (answer.status === 202) return answer.body.id;
        if (answer.status < 500 || tries === MOST_TRIES)
          throw new Error(
            `the ${workflow} was not accepted: ${answer.status} ${JSON.stringify(answer.body)}`,
          );
        await sleep(1_000 * Number(answer.headers.get('retry-after') ?? tries));
      }
    },
  };
}
