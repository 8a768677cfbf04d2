import { describe, expect, test } from 'vitest';
import {
  AUDIT_DAYS,
  type AuditEntry,
  auditEntryOf,
  auditPartitions,
  auditSince,
  beginAuditOf,
  endAuditOf,
} from '#core/audit.ts';
import { memoryStore } from '#test/memory/store.ts';

const AT = Date.parse('2026-11-29T23:59:59.500Z');
const by = { who: 'arn:aws:sts::123456789012:assumed-role/operator/ada', at: AT, nonce: 'n1' };
const entry = auditEntryOf('dlq replay', { pool: 'shipping' }, by);

describe('an entry', () => {
  test('lies in the partition of its day, in order of time, and expires after its days', () => {
    expect(entry).toEqual({
      PK: 'AUDIT#2026-11-29',
      SK: '2026-11-29T23:59:59.500Z#n1',
      at: AT,
      who: by.who,
      action: 'dlq replay',
      arguments: { pool: 'shipping' },
      outcome: 'begun',
      expiresAt: Math.floor(AT / 1000) + AUDIT_DAYS * 86_400,
    });
  });

  test('is bounded and holds no credentials, however it was called', () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`a${n}`, 'x'.repeat(5_000)]));
    const large = auditEntryOf('x', { reason: 'password=hunter2', ...many }, by);
    expect(Object.keys(large.arguments)).toHaveLength(20);
    expect(large.arguments['reason']).toBe('password=<credential>');
    expect(JSON.stringify(large).length).toBeLessThan(8_192);
  });

  test('is begun, completed once, and never overwritten', async () => {
    const store = memoryStore();
    expect((await store.put(beginAuditOf(entry))).written).toBe(true);
    expect((await store.put(beginAuditOf(entry))).written).toBe(false);
    const end = { outcome: 'stopped', counts: { sent: 2 }, why: 'canary\nfailed' } as const;
    expect((await store.update(endAuditOf(entry, end, AT + 5))).written).toBe(true);
    expect(await store.get(entry)).toEqual({
      ...entry,
      outcome: 'stopped',
      endedAt: AT + 5,
      counts: { sent: 2 },
      why: 'canary failed',
    });
    const late = endAuditOf(entry, { outcome: 'done', counts: {} }, AT + 9);
    expect((await store.update(late)).written).toBe(false);
  });
});

describe('the trail', () => {
  test('partitions of all days that the time touches', () => {
    expect(auditPartitions(AT, AT + 1_000)).toEqual(['AUDIT#2026-11-29', 'AUDIT#2026-11-30']);
    expect(auditPartitions(AT, AT)).toEqual(['AUDIT#2026-11-29']);
    expect(auditPartitions(AT, AT - 86_400_000)).toEqual([]);
  });

  test('never more days than are kept', () => {
    expect(auditPartitions(0, AT)).toHaveLength(AUDIT_DAYS + 1);
  });

  test('leaves out what is older than asked for, and what is past its time', () => {
    const entries: AuditEntry[] = [
      { ...entry, at: 10, expiresAt: 100 },
      { ...entry, at: 20, expiresAt: 100 },
      { ...entry, at: 30, expiresAt: 50 },
    ];
    expect(auditSince(entries, 20, 50_000)).toEqual([entries[1]]);
    expect(auditSince(entries, 20, 49_999)).toHaveLength(2);
  });
});
