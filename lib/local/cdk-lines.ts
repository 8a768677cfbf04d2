/** What of the CDK's many lines a person wants to see. */

/** `edow-state |  3/12 | 8:33:45 PM | CREATE_COMPLETE | AWS::SQS::Queue | Q (Q63C6E3AB)` */
const RESOURCE =
  /^\s*(?<stack>\S+) \|\s*(?<done>\d+)\/(?<total>\d+) \|[^|]*\| (?<status>\w+) *\| (?<type>\S+) *\| (?<id>.*?)\s*$/;
const STACK_DONE = /^\s*✅\s+(?<what>\S+(?: \(no changes\))?)\s*$/;

/** A short line for the screen, or undefined for a line that only the log needs. */
export function progressOf(line: string): string | undefined {
  const resource = RESOURCE.exec(line)?.groups;
  if (resource) {
    const isWorthALine = /_COMPLETE$|FAILED/.test(resource['status'] ?? '');
    const { stack, done, total, type, id, status } = resource;
    return isWorthALine ? `${stack} ${done}/${total} ${type} ${id} ${status}` : undefined;
  }
  const finished = STACK_DONE.exec(line)?.groups?.['what'];
  return finished && `${finished} is done`;
}

const SHOWN_LINES = 12;

/** The end of a failed command's lines, at most 12, without stack frames and without resources that went well. */
export function failureLines(tail: readonly string[]): readonly string[] {
  const isNoise = (line: string) =>
    /^\s+at |node internals/.test(line) || (RESOURCE.test(line) && !line.includes('FAILED'));
  return tail.filter((line) => !isNoise(line)).slice(-SHOWN_LINES);
}
