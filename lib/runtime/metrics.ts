/** Metrics as log lines (CloudWatch embedded metric format): no call, no cost on the path. */
import { type METRIC, NAMESPACE } from '#core/metric-names.ts';

/** Prints one count. Dimensions are few and known: workflow, never run or task. */
export function count(
  name: (typeof METRIC)[keyof typeof METRIC],
  value: number,
  dimensions: Readonly<Record<string, string>> = {},
  write: (line: string) => void = (line) => process.stdout.write(`${line}\n`),
): void {
  write(
    JSON.stringify({
      _aws: {
        Timestamp: Date.now(),
        CloudWatchMetrics: [
          {
            Namespace: NAMESPACE,
            Dimensions: [Object.keys(dimensions)],
            Metrics: [{ Name: name, Unit: 'Count' }],
          },
        ],
      },
      ...dimensions,
      [name]: value,
    }),
  );
}
