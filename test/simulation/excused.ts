// biome-ignore-all lint/suspicious/noTemplateCurlyInString: lines of source, as they stand there
/** Branches of the delivery core that no schedule takes, each with the reason. Unit tests take all of them. */
export interface Excuse {
  readonly file: string;
  /** The whole line in which the branch begins. */
  readonly source: string;
  /** How it begins. Default: as its line. */
  readonly text?: string;
  readonly why: string;
}

const ALWAYS_SET = 'the attribute is always there by then: the type allows its absence';
const LINE =
  'a world has some twelve tasks; this needs more than twenty finished ones at the head of one line';
const NEVER_DELETED = 'no item is deleted before it expires, 90 days later';
const NO_RACE =
  'somebody else would have to change one item, or one line, between a read and the next write each time';
const AFTER_A_TRY = 'only a try that failed leaves a task with a time before which it is not tried';
const TOLD_NOBODY = 'needs events that reach nobody for two hours, which the invariants forbid';

export const EXCUSED: readonly Excuse[] = [
  {
    file: 'claim',
    source: "hash('sha256', dataref ?? JSON.stringify(data) ?? '', 'base64url').slice(0, 16);",
    text: "?? ''",
    why: 'a command has data or a pointer: the reader refuses others',
  },
  {
    file: 'claim',
    source: 'request.sentAt > Math.max(dead.deadAt ?? 0, dead.metAt ?? 0) + LEASE_GRACE_MS &&',
    text: '?? 0',
    why: ALWAYS_SET,
  },
  {
    file: 'claim',
    source: 'const free = (item.leaseUntil ?? Number.POSITIVE_INFINITY) + LEASE_GRACE_MS;',
    text: '?? Number.POSITIVE_INFINITY',
    why: ALWAYS_SET,
  },
  {
    file: 'claiming',
    source: "if (place === 'busy') return again(1);",
    text: 'return again(1);',
    why: LINE,
  },
  { file: 'claiming', source: 'return again(1);', why: NO_RACE },
  {
    file: 'outcome',
    source: "all(CLAIMED, where('fence', '=', item.fence), where('owner', '=', item.owner ?? ''));",
    text: "?? ''",
    why: ALWAYS_SET,
  },
  { file: 'outcome', source: 'startedAt: claimed.claimedAt ?? now,', text: '?? now', why: ALWAYS_SET },
  {
    file: 'deaths',
    source: "class: last?.class ?? 'throttled',",
    text: "?? 'throttled'",
    why: AFTER_A_TRY,
  },
  { file: 'deaths', source: "name: last?.name ?? 'Starved',", text: "?? 'Starved'", why: AFTER_A_TRY },
  {
    file: 'deaths',
    source:
      "message: last?.message ?? 'the message was received as often as it may be before a try could begin',",
    text: "?? 'the message was received as often as it may be before a try could begin'",
    why: AFTER_A_TRY,
  },
  {
    file: 'dispatch',
    source: "if (current.status === 'dead' && (current.outcomeExecution ?? 0) < current.execution) {",
    text: '?? 0',
    why: ALWAYS_SET,
  },
  {
    file: 'dispatch',
    source: 'if (reset.item === undefined) return undefined;',
    text: 'return undefined;',
    why: NEVER_DELETED,
  },
  { file: 'dispatch', source: "case 'cancelled':", why: 'steps are cancelled in ended runs only' },
  { file: 'dispatch', source: "case 'surplus':", why: 'only scatter makes a task surplus: it is not built' },
  {
    file: 'collect',
    source: 'const late = (step.doneAt ?? 0) > step.deadline;',
    text: '?? 0',
    why: ALWAYS_SET,
  },
  {
    file: 'close',
    source:
      "const kept = await keepPayload(payloads, `${run.tenant}/${run.runId}/output.json`, ended.output ?? '{}');",
    text: "?? '{}'",
    why: 'an execution that succeeded has an output',
  },
  {
    file: 'resume',
    source: "if (run.status !== 'held') return `the run is ${run.status}`;",
    text: 'return `the run is ${run.status}`;',
    why: 'for the command line: collect and the sweeper ask for held runs only',
  },
  {
    file: 'sweep',
    source: 'if (report.left) break;',
    text: 'break;',
    why: 'a world has three runs; this needs more than 200 that are due at once',
  },
  {
    file: 'sweep',
    source: 'if (run?.closedAt === undefined) return run;',
    text: 'return run;',
    why: 'its part of the index holds closed runs only, and nothing opens one again',
  },
  {
    file: 'sweep',
    source: "const isOver = run.checks >= LAST_LOOK && told === 'late';",
    text: "&& told === 'late'",
    why: TOLD_NOBODY,
  },
  {
    file: 'sweep',
    source:
      "if (isOver) log.error('events of a run are told again and again and reach nobody', { run: run.runId });",
    text: "log.error('events of a run are told again and again and reach nobody', { run: run.runId });",
    why: TOLD_NOBODY,
  },
  {
    file: 'sweep',
    source: 'if (run === undefined) return undefined;',
    text: 'return undefined;',
    why: NEVER_DELETED,
  },
  {
    file: 'sweep',
    source: "if (step.status === 'done' && (step.doneAt ?? 0) + ANSWER_LOST_MS < now) {",
    text: '?? 0',
    why: ALWAYS_SET,
  },
  { file: 'sweep', source: '(step.deadAt ?? 0) + ANSWER_LOST_MS < now', text: '?? 0', why: ALWAYS_SET },
  { file: 'parking', source: "return 'busy';", why: LINE },
  {
    file: 'parking',
    source: "if (line?.why !== 'condition' && before?.why !== 'condition') break;",
    text: '?.why',
    why: NEVER_DELETED,
  },
  {
    file: 'parking',
    source:
      '// The line is as it was read and its last one is not: it has expired with its run, and names nobody any more.',
    why: NEVER_DELETED,
  },
];
