/** Names of our own metrics: functions count by them, alarms watch them. The only place that spells them. */
export const NAMESPACE = 'edow';

export const METRIC = {
  /** Held runs, as sweep and close see them. */
  heldRuns: 'HeldRuns',
  /** Records that went back to their source because two seconds were not enough, by function. */
  handedBack: 'HandedBack',
} as const;

/** Tells the deployments of one account apart: the name of the state table. */
export const DEPLOYMENT = 'StateTable';
