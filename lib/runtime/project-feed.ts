/** Binds core's projection to the records of its queue. */
import type { ViewRows } from '#core/ports.ts';
import { project } from '#core/project.ts';
import { isUnreadable } from '#core/read-command.ts';
import { parseEvent } from '#core/read-event.ts';
import { batch } from './batch.ts';

/** The entry point of project: what is no event goes to the dead-letter queue by itself, with its reason in the log. */
export const projectFeed = (views: ViewRows) =>
  batch(async (record, log) => {
    const event = parseEvent(record.body);
    if (!isUnreadable(event)) {
      await project(views, event);
      return { ack: true };
    }
    if (event.harmless) log.info('message is known noise', { problem: event.problem });
    else log.error('message is no event', { problem: event.problem });
    return { ack: event.harmless };
  });
