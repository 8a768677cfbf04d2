/** Branches of the delivery core that no schedule takes, each with the reason. Unit tests take all of them. */
export interface Excuse {
  readonly file: string;
  /** How the block begins. */
  readonly text: string;
  readonly why: string;
}

const NOT_BUILT = 'scatter and compensation are not built yet';
const ALWAYS_SET = 'the attribute is always there by then: the type allows its absence';
const RACE = 'three lost races in a row on one item';

export const EXCUSED: readonly Excuse[] = [
  { file: 'claim', text: "?? ''", why: 'a command has data or a pointer: the reader refuses others' },
  { file: 'claim', text: '?? false', why: ALWAYS_SET },
  { file: 'claim', text: '?.digest', why: 'no schedule edits a letter' },
  { file: 'claim', text: '?? 0', why: ALWAYS_SET },
  { file: 'claim', text: '?? Number.POSITIVE_INFINITY', why: ALWAYS_SET },
  { file: 'outcome', text: "?? ''", why: ALWAYS_SET },
  { file: 'outcome', text: '?? now', why: ALWAYS_SET },
  { file: 'deaths', text: "?? 'throttled'", why: 'a wait on the last receive follows a try' },
  { file: 'deaths', text: "?? 'Starved'", why: 'a wait on the last receive follows a try' },
  {
    file: 'deaths',
    text: "?? 'the message was received as often as it may be before a try could begin'",
    why: 'a wait on the last receive follows a try',
  },
  {
    file: 'write-twice',
    text: 'throw error;',
    why: 'a store throws PortUnavailable only; anything else is a bug',
  },
  { file: 'claiming', text: 'return again(1);', why: RACE },
  { file: 'dispatch', text: '?? 0', why: ALWAYS_SET },
  { file: 'dispatch', text: 'return undefined;', why: 'no item is deleted before it expires, 90 days later' },
  {
    file: 'dispatch',
    text: "case 'cancelled':",
    why: `${NOT_BUILT}: steps are cancelled in ended runs only`,
  },
  { file: 'dispatch', text: "case 'surplus':", why: NOT_BUILT },
  { file: 'collect', text: '?? 0', why: ALWAYS_SET },
  { file: 'close', text: "?? '{}'", why: 'an execution that succeeded has an output' },
  {
    file: 'resume',
    text: 'return `the run is ',
    why: 'its callers here ask for held runs only',
  },
  { file: 'sweep', text: 'break;', why: 'needs more than 200 open runs that are due at once' },
  { file: 'sweep', text: ": 'young'", why: 'needs more than ten events that wait for the projector' },
  { file: 'sweep', text: 'return run;', why: 'an ended run is in its part of the index, no other is' },
  { file: 'sweep', text: "&& told === 'late'", why: 'needs events that reach nobody for two hours' },
  { file: 'sweep', text: "log.error('events of a run", why: 'needs events that reach nobody for two hours' },
  { file: 'sweep', text: 'return checkEnded(items', why: 'needs a run that an older version has ended' },
  { file: 'sweep', text: 'return undefined;', why: 'no item is deleted before it expires, 90 days later' },
  { file: 'sweep', text: '?? 0', why: ALWAYS_SET },
];
