import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { audited } from '#cli/audit.ts';
import { callerArn } from '#cli/aws/caller.ts';
import { CliError } from '#cli/errors.ts';
import type { AuditEntry } from '#core/audit.ts';
import { CALLER, fakeConnection, RUN } from './fake-connection.ts';

const entriesOf = ({ store }: Pick<ReturnType<typeof fakeConnection>, 'store'>) =>
  store.items().filter(({ PK }) => PK.startsWith('AUDIT#')) as unknown as AuditEntry[];

describe('an action', () => {
  test('is on record as begun while it runs, and with its counts when it is done', async () => {
    const cloud = fakeConnection();
    let during: AuditEntry[] = [];
    const named = { pool: 'shipping', run: undefined, limit: 5, dryRun: false };
    const value = await audited(cloud.connection, 'dlq replay', named, async (notes, actor) => {
      during = entriesOf(cloud);
      notes.counts = { sent: 3 };
      return actor.who;
    });
    expect(value).toBe(CALLER);
    expect(during).toMatchObject([{ who: CALLER, action: 'dlq replay', outcome: 'begun' }]);
    expect(during[0]?.arguments).toEqual({ pool: 'shipping', limit: '5', dryRun: 'false' });
    expect(entriesOf(cloud)).toMatchObject([{ outcome: 'done', counts: { sent: 3 } }]);
  });

  test('that fails keeps what was done until then, and why: our own words, or the name alone', async () => {
    const cloud = fakeConnection();
    const fail = (error: unknown) =>
      audited(cloud.connection, 'x', {}, async (notes) => {
        notes.counts = { sent: 1 };
        throw error;
      });
    await expect(fail(new CliError('a_code', 'it is gone', 'next'))).rejects.toThrow('it is gone');
    await expect(fail(new TypeError('secret payload'))).rejects.toThrow('secret payload');
    await expect(fail('text')).rejects.toBe('text');
    expect(
      entriesOf(cloud)
        .map(({ outcome, counts, why }) => [outcome, counts, why])
        .sort(),
    ).toEqual([
      ['failed', { sent: 1 }, 'TypeError'],
      ['failed', { sent: 1 }, 'a_code: it is gone'],
      ['failed', { sent: 1 }, 'unknown'],
    ]);
  });

  test('is not begun where its caller is not known', async () => {
    let begun = false;
    const { connection, ...cloud } = fakeConnection({
      connection: { caller: () => Promise.reject(new CliError('caller_unknown', 'who?', '')) },
    });
    const act = async () => {
      begun = true;
    };
    await expect(audited(connection, 'x', {}, act)).rejects.toThrow('who?');
    expect([begun, entriesOf(cloud)]).toEqual([false, []]);
  });

  test('whose end cannot be written has ended all the same, and says that it stays "begun"', async () => {
    const cloud = fakeConnection();
    const lost = { ...cloud.store, update: () => Promise.reject(new Error('down')) };
    const connection = { ...cloud.connection, store: async () => lost };
    await expect(audited(connection, 'x', {}, async () => 1)).rejects.toMatchObject({
      code: 'audit_incomplete',
    });
    await expect(audited(connection, 'x', {}, () => Promise.reject(new Error('first')))).rejects.toThrow(
      'first',
    );
    expect(entriesOf(cloud).map(({ outcome }) => outcome)).toEqual(['begun', 'begun']);
  });
});

describe('edow audit', () => {
  test('a resume that is refused is on record, with who and why', async () => {
    const { edow } = fakeConnection();
    expect((await edow(['audit'])).out).toBe('No actions on record in this time.\n');
    expect((await edow(['resume', RUN])).exitCode).toBe(1);
    const { entries } = JSON.parse((await edow(['audit', '--json'])).out);
    expect(entries).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        who: CALLER,
        action: 'resume',
        arguments: { run: RUN, force: 'false' },
        outcome: 'failed',
        endedAt: expect.any(String),
        counts: {},
        why: expect.stringMatching(/^unknown_run: there is no run/),
      },
    ]);
    const { out } = await edow(['audit', '--since', '1h']);
    expect(out).toMatch(
      /ada\s+resume\s+failed\s+-\s+run=01M8\S+ force=false\n {2}unknown_run: there is no run/,
    );
  });

  test('shows the oldest first, of the time asked for only', async () => {
    const { edow, store } = fakeConnection();
    const at = Date.now();
    for (const [index, ago] of [1, 30, 90].entries())
      await store.put({
        item: {
          PK: `AUDIT#${new Date(at - ago * 86_400_000).toISOString().slice(0, 10)}`,
          SK: `${index}`,
          at: at - ago * 86_400_000,
          who: 'a b/c',
          action: `action ${ago}`,
          arguments: { reason: 'two words' },
          outcome: 'begun',
          expiresAt: Math.ceil(at / 1000) + 1000,
        },
        when: { all: [] },
      });
    const { out } = await edow(['audit', '--since', '40d']);
    const rows = out.trimEnd().split('\n');
    expect(rows).toHaveLength(3);
    expect(rows[1]).toMatch(/ c +action 30 +begun +- +reason="two words"$/);
    expect(rows[2]).toContain('action 1 ');
  });
});

describe('the caller', () => {
  const answered = async (status: number, body: string) => {
    const seen: string[] = [];
    const server = createServer(async (request, response) => {
      for await (const part of request) seen.push(String(part));
      seen.push(request.headers.authorization ?? '');
      response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
    try {
      return { arn: await callerArn(`http://127.0.0.1:${port}`, 'eu-central-1', keys), seen };
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  };

  test('is what STS answers to a signed request', async () => {
    const { arn, seen } = await answered(200, `<R><Arn>${CALLER}</Arn></R>`);
    expect(arn).toBe(CALLER);
    expect(seen[0]).toBe('Action=GetCallerIdentity&Version=2011-06-15');
    expect(seen[1]).toContain('/eu-central-1/sts/aws4_request');
  });

  test.each([
    [403, '<Error><Code>InvalidClientTokenId</Code></Error>', /\(InvalidClientTokenId\)/],
    [200, '<html>', /\(status 200\)/],
  ])('status %i, %s: refused', async (status, body, says) => {
    await expect(answered(status, body)).rejects.toThrow(says);
  });
});
