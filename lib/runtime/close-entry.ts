/** Binds core's close to the end-state events of executions. */
import type { EventBridgeEvent } from 'aws-lambda';
import { type ClosePorts, closer } from '#core/close.ts';
import { DEPLOYMENT, METRIC } from '#core/metric-names.ts';
import type { Executions } from '#core/ports.ts';
import { chain } from './chain.ts';
import { type EndDetail, endOfExecution } from './end-event.ts';
import { inTime } from './in-time.ts';
import { count } from './metrics.ts';

export interface CloseEntryPorts extends ClosePorts {
  readonly executions: Executions;
  /** Name of the state table: tells deployments apart. */
  readonly deployment: string;
}

/**
 * The entry point of close. An event is its only record: what is not done in time is thrown, so that Lambda hands it
 * out again; and the sweeper finishes every close that was cut short.
 */
export function closeEntry(ports: CloseEntryPorts) {
  const { close } = closer(ports);
  return chain<EventBridgeEvent<string, EndDetail>, void>('close', (event, { log }) =>
    inTime(async () => {
      const end = await endOfExecution(event.detail, ports.executions, log);
      if (end === undefined) return;
      const run = await close(end.runId, end.execution, end.state, log);
      if (run?.status === 'held') count(METRIC.heldRuns, 1, { [DEPLOYMENT]: ports.deployment });
    }),
  );
}
