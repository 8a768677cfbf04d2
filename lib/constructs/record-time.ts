/** The time of functions that hand back what takes too long. */
import { Duration } from 'aws-cdk-lib';
import { ENV } from '#core/env-names.ts';
import type { Stage } from './stage.ts';

/** A batch begins no record when it could not set it aside any more: room for two or three in a row. */
const RECORDS_IN_A_ROW = 5;

export const functionTime = (stage: Stage): Duration =>
  Duration.seconds(RECORDS_IN_A_ROW * stage.recordSeconds);

export const recordTime = (stage: Stage): Readonly<Record<string, string>> => ({
  [ENV.recordSeconds]: String(stage.recordSeconds),
});
