import { describe, expect, test } from 'vitest';
import { DEFAULT_TENANT, principalOf, tenantOf } from '#core/tenant.ts';

const ROLE = 'arn:aws:iam::123456789012:role/shop';
const USER = 'arn:aws:iam::123456789012:user/ada';

test.each([
  ["a role's session is its role", 'arn:aws:sts::123456789012:assumed-role/shop/i-0abc', ROLE],
  [
    'in every partition',
    'arn:aws-cn:sts::123456789012:assumed-role/shop/a@b',
    'arn:aws-cn:iam::123456789012:role/shop',
  ],
  ['whatever the session is called', 'arn:aws:sts::123456789012:assumed-role/shop/role/admin', ROLE],
  ['a user is itself', USER, USER],
  ['a role is itself', ROLE, ROLE],
  ['the account root is itself', 'arn:aws:iam::123456789012:root', 'arn:aws:iam::123456789012:root'],
  [
    'no session, no role',
    'arn:aws:sts::123456789012:assumed-role/shop/',
    'arn:aws:sts::123456789012:assumed-role/shop/',
  ],
])('%s', (_what, caller, principal) => {
  expect(principalOf(caller)).toBe(principal);
});

describe('tenantOf', () => {
  const tenants = new Map([
    [ROLE, 'acme'],
    [USER, 'globex'],
  ]);

  test('is what the map says of the principal, and nothing for all others', () => {
    expect(tenantOf('arn:aws:sts::123456789012:assumed-role/shop/s', tenants)).toBe('acme');
    expect(tenantOf(USER, tenants)).toBe('globex');
    expect(tenantOf('arn:aws:iam::123456789012:user/eve', tenants)).toBeUndefined();
    expect(tenantOf('arn:aws:sts::999999999999:assumed-role/shop/s', tenants)).toBeUndefined();
    expect(tenantOf('arn:aws:sts::123456789012:assumed-role/shop2/s', tenants)).toBeUndefined();
  });

  test('without a map everybody who is known has the default tenant', () => {
    expect(tenantOf(USER, new Map())).toBe(DEFAULT_TENANT);
  });

  test('a caller who is not known has none, map or no map', () => {
    for (const map of [tenants, new Map<string, string>()]) {
      expect(tenantOf(undefined, map)).toBeUndefined();
      expect(tenantOf('', map)).toBeUndefined();
    }
  });
});
