/** Callers of the suite and their tenants, as the suite's own deploy maps them. */
import { ACCOUNT } from '#local/cloud.ts';

const user = (name: string): string => `arn:aws:iam::${ACCOUNT}:user/${name}`;

/** Users that a test makes before it calls as one of them. */
export const RIVAL = 'edow-test-rival';
export const STRANGER = 'edow-test-stranger';

/** The suite itself calls as the account's root. The stranger belongs to no tenant. */
export const LOCAL_TENANTS: Readonly<Record<string, string>> = {
  [`arn:aws:iam::${ACCOUNT}:root`]: 'shop',
  [user(RIVAL)]: 'rival',
};
