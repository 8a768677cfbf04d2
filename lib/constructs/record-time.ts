/** The time of functions that hand back what takes too long. */
import { Duration } from 'aws-cdk-lib';
import { ENV } from '#core/env-names.ts';
import type { Stage } from './stage.ts';

/** Beyond one record: 4 s in which records may begin, 4 s in which what hangs is set aside (see runtime/stream.ts). */
const BEYOND_A_RECORD_SECONDS = 8;

export const functionTime = (stage: Stage): Duration =>
  Duration.seconds(stage.recordSeconds + BEYOND_A_RECORD_SECONDS);

export const recordTime = (stage: Stage): Readonly<Record<string, string>> => ({
  [ENV.recordSeconds]: String(stage.recordSeconds),
});
