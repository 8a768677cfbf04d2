/**
 * The envelope of commands and events: a CloudEvents 1.0 JSON object (names lower case, as the spec demands).
 * Everything that is published is made here and nowhere else.
 */
import { schemaUri } from './names.ts';

export interface Envelope {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time: string;
  readonly subject?: string;
  readonly datacontenttype: 'application/json';
  readonly dataschema?: string;
  readonly data?: unknown;
  /** Pointer to the data where it is too large to travel (CloudEvents extension `dataref`). */
  readonly dataref?: string;
  readonly correlationid: string;
  readonly causationid: string;
  /** W3C trace context. */
  readonly traceparent: string;
  readonly tenant: string;
}

/** A command: its id is the taskId, so all copies are duplicates of one another. */
export interface Command extends Envelope {
  readonly workflow: string;
  readonly runid: string;
  readonly step: string;
  /** Ordered execution number, see items.ts. */
  readonly execution: number;
  readonly entry: number;
  /** ISO 8601: when the step gives up. A hint; the item decides. */
  readonly deadline: string;
  readonly trylimit: number;
  /**
   * Ordered pools: tasks with the same one take effect in order.
   * @see https://github.com/cloudevents/spec/blob/main/cloudevents/extensions/partitioning.md
   */
  readonly partitionkey?: string;
}

const SOURCE = 'urn:edow:workflow:';
export const sourceOf = (workflow: string): string => SOURCE + workflow;
/** Reads {@link sourceOf} back; another source as it is. */
export const workflowOf = (source: string): string => source.replace(SOURCE, '');

export interface CommandParts {
  readonly taskId: string;
  readonly workflow: string;
  readonly runId: string;
  readonly stepKey: string;
  readonly contract: { readonly type: string; readonly version: number; readonly tries: number };
  readonly tenant: string;
  readonly correlationId: string;
  readonly traceparent: string;
  readonly execution: number;
  readonly entry: number;
  readonly enteredAt: number;
  readonly deadline: number;
  readonly data?: unknown;
  readonly dataref?: string;
  readonly partitionKey?: string;
}

export function commandOf(parts: CommandParts): Command {
  return {
    specversion: '1.0',
    id: parts.taskId,
    source: sourceOf(parts.workflow),
    type: parts.contract.type,
    time: new Date(parts.enteredAt).toISOString(),
    subject: parts.runId,
    datacontenttype: 'application/json',
    dataschema: schemaUri(parts.contract.type, parts.contract.version),
    ...(parts.dataref === undefined ? { data: parts.data } : { dataref: parts.dataref }),
    correlationid: parts.correlationId,
    causationid: parts.runId,
    traceparent: parts.traceparent,
    tenant: parts.tenant,
    workflow: parts.workflow,
    runid: parts.runId,
    step: parts.stepKey,
    execution: parts.execution,
    entry: parts.entry,
    deadline: new Date(parts.deadline).toISOString(),
    trylimit: parts.contract.tries,
    ...(parts.partitionKey === undefined ? {} : { partitionkey: parts.partitionKey }),
  };
}
