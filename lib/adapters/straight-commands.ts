/**
 * Commands straight to their work queues, as raw delivery by the topic would write them: for a command that the topic's
 * filters, which take up to 15 minutes to hold, did not let through, or that one task alone is to get.
 */
import type { Command } from '#core/envelope.ts';
import { PortUnavailable } from '#core/errors.ts';
import { wireText } from '#core/json-text.ts';
import type { Commands } from '#core/ports.ts';

export interface StraightMessage {
  readonly body: string;
  readonly attributes: Readonly<Record<'type' | 'tenant', string>>;
  readonly groupId: string;
  /** Of ordered pools only: their queues are FIFO. */
  readonly deduplicationId?: string;
}

export interface Straight {
  /** URL of the work queue of a command type; undefined: nobody handles it. */
  readonly queueOf: (commandType: string) => string | undefined;
  readonly send: (queueUrl: string, message: StraightMessage) => Promise<unknown>;
  /** Makes the message another one than those that were sent in the last five minutes. */
  readonly deduplicationIdOf: (command: Command) => string;
}

export const straightCommands = ({ queueOf, send, deduplicationIdOf }: Straight): Commands => ({
  publish: async (commands) => {
    const left: string[] = [];
    for (const command of commands) {
      const queueUrl = queueOf(command.type);
      const message = {
        body: wireText(command),
        attributes: { type: command.type, tenant: command.tenant },
        groupId: command.partitionkey ?? command.tenant,
        ...(command.partitionkey !== undefined && { deduplicationId: deduplicationIdOf(command) }),
      };
      try {
        if (queueUrl === undefined) left.push(command.id);
        else await send(queueUrl, message);
      } catch (error) {
        if (!(error instanceof PortUnavailable)) throw error;
        left.push(command.id);
      }
    }
    return left;
  },
});
