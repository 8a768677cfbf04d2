/** Names of stages and stacks, apart from what they hold: the command line knows them without loading the CDK. */
export const STAGE_NAMES = ['local', 'dev', 'prod'] as const;
export type StageName = (typeof STAGE_NAMES)[number];

/** Names of the stacks. Everything else has a generated name. */
export const stackNames = (stage: StageName) =>
  ({
    state: `edow-${stage}-state`,
    stubs: `edow-${stage}-stubs`,
    pipeline: `edow-${stage}-pipeline`,
    observability: `edow-${stage}-observability`,
  }) as const;
