/** Whose run it is: from the authenticated caller, never from a header or a body. */

/** Tenant of everybody while no map is deployed. */
export const DEFAULT_TENANT = 'default';

const ASSUMED_ROLE = /^arn:([\w-]+):sts::(\d{12}):assumed-role\/([^/]+)\/.+$/;

/** The ARN that a map is keyed by: an assumed role's session counts as its role, without path. */
export function principalOf(callerArn: string): string {
  const match = ASSUMED_ROLE.exec(callerArn);
  return match ? `arn:${match[1]}:iam::${match[2]}:role/${match[3]}` : callerArn;
}

/**
 * @param tenants principal ARN -> tenant; empty: one tenant for all callers
 * @returns undefined: this caller has no tenant and may see nothing
 */
export function tenantOf(
  callerArn: string | undefined,
  tenants: ReadonlyMap<string, string>,
): string | undefined {
  if (callerArn === undefined || callerArn === '') return undefined;
  return tenants.size === 0 ? DEFAULT_TENANT : tenants.get(principalOf(callerArn));
}
