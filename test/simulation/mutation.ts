/** A mutation is a list of text patches; `from` must stand in the file exactly once. */
export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Mutation {
  readonly name: string;
  readonly patches: readonly Patch[];
}

/** A patch of a file of core. */
export const core = (file: string, from: string, to: string): Patch => ({
  file: `lib/core/${file}.ts`,
  from,
  to,
});
