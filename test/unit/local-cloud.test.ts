import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failureLines, progressOf } from '#local/cdk-lines.ts';
import { type Cloud, cloudEnv, readRecord, recordFile } from '#local/cloud.ts';
import { cloudStatus, stopCloud } from '#local/emulator.ts';
import { emulatorEnv, isEmulator } from '#local/emulator-process.ts';
import { assertPortIsFree, freePort } from '#local/ports.ts';
import { commandOf, membersOf } from '#local/processes.ts';

let stateDir: string;
let cloud: Cloud;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'edow-cloud-'));
  cloud = {
    endpoint: 'https://127.0.0.1:4601',
    port: 4601,
    pid: process.pid,
    startedAt: '2026-01-01T00:00:00.000Z',
    stateDir,
    certificate: join(stateDir, 'certificate.pem'),
  };
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

describe('environment of clients', () => {
  it('lets nothing of the person that is meant for AWS get in', () => {
    const outer = {
      PATH: '/x',
      HOME: '/home/me',
      AWS_PROFILE: 'prod',
      AWS_SESSION_TOKEN: 's',
      CDK_DEFAULT_ACCOUNT: '1',
    };
    const env = cloudEnv(cloud, outer);
    expect(Object.keys(env)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/PROFILE|SESSION|CDK_DEFAULT/)]),
    );
    expect(env).toMatchObject({
      HOME: '/home/me',
      AWS_ENDPOINT_URL: 'https://127.0.0.1:4601',
      AWS_ACCESS_KEY_ID: 'test',
      NODE_EXTRA_CA_CERTS: cloud.certificate,
    });
    expect(env['PATH']).toMatch(/node_modules\/node\/bin:\/x$/);
  });

  it('gives the emulator nothing but what it needs', () => {
    process.env['SOME_SECRET_OF_THE_SHELL'] = 'x';
    const env = emulatorEnv(4601, stateDir, { certificate: cloud.certificate, key: '/k' });
    expect(env).toMatchObject({ BIND_HOST: '127.0.0.1', GATEWAY_PORT: '4601', AUTH: 'true', USE_SSL: '1' });
    expect(env).not.toHaveProperty('SOME_SECRET_OF_THE_SHELL');
  });
});

describe('record of the running emulator', () => {
  it('is absent, or cut short by a crash: nothing runs', async () => {
    expect(await cloudStatus(stateDir)).toEqual({ state: 'stopped' });
    writeFileSync(recordFile(stateDir), '{"pid": 1');
    expect(readRecord(stateDir)).toBeUndefined();
    expect(await stopCloud({ stateDir })).toBe(false);
  });

  it('names a process that is gone', async () => {
    writeFileSync(recordFile(stateDir), JSON.stringify({ ...cloud, pid: 2 ** 22 + 1 }));
    expect(await cloudStatus(stateDir)).toMatchObject({ state: 'stale', reason: 'process 4194305 is gone' });
  });

  it('names another program, which is left alone', async () => {
    writeFileSync(recordFile(stateDir), JSON.stringify(cloud));
    const said: string[] = [];
    expect(await stopCloud({ stateDir, say: (line) => said.push(line) })).toBe(false);
    expect(said).toEqual([expect.stringContaining('is another program by now')]);
    expect(await cloudStatus(stateDir)).toEqual({ state: 'stopped' });
  });

  it('tells the emulator of this folder from one of another', () => {
    const command = (port: number, folder: string) =>
      `python -m hypercorn ministack.app:app --bind 127.0.0.1:${port} --certfile ${folder}/certificate.pem --keyfile k`;
    expect(isEmulator(command(4601, stateDir), cloud)).toBe(true);
    expect(isEmulator(command(4602, stateDir), cloud)).toBe(false);
    expect(isEmulator(command(4601, '/elsewhere'), cloud)).toBe(false);
    expect(isEmulator('vim cloud.json', cloud)).toBe(false);
  });
});

describe('processes and ports', () => {
  it('finds this process by id and by group', () => {
    expect(commandOf(process.pid)).toContain('node');
    expect(commandOf(2 ** 22 + 1)).toBeUndefined();
    expect(membersOf(2 ** 22 + 1)).toEqual([]);
  });

  it('a taken port is named, with the way to choose another', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    await expect(assertPortIsFree(port)).rejects.toMatchObject({
      code: 'port_taken',
      message: expect.stringContaining(String(port)),
      nextStep: expect.stringContaining(`--port ${port + 1}`),
    });
    await new Promise((resolve) => server.close(resolve));
    await expect(assertPortIsFree(port)).resolves.toBeUndefined();
    await expect(assertPortIsFree(await freePort())).resolves.toBeUndefined();
  });
});

describe('lines of the CDK', () => {
  const line = (status: string) =>
    `edow-state |  3/12 | 8:33:45 PM | ${status}   | AWS::SQS::Queue   | Q (Q63C6E3AB) `;

  it('shows finished resources and stacks only', () => {
    expect(progressOf(line('CREATE_COMPLETE'))).toBe(
      'edow-state 3/12 AWS::SQS::Queue Q (Q63C6E3AB) CREATE_COMPLETE',
    );
    expect(progressOf(line('CREATE_IN_PROGRESS'))).toBeUndefined();
    expect(progressOf(' ✅  edow-state (no changes)')).toBe('edow-state (no changes) is done');
    expect(progressOf('✨  Total time: 1.8s')).toBeUndefined();
  });

  it('keeps of a failure what says why', () => {
    const tail = [
      line('CREATE_COMPLETE'),
      line('CREATE_FAILED'),
      '    at Object.<anonymous> (x.js:1:1)',
      'Why: because',
    ];
    expect(failureLines(tail)).toEqual([line('CREATE_FAILED'), 'Why: because']);
    expect(failureLines(Array.from({ length: 30 }, (_, i) => `line ${i}`))).toHaveLength(12);
  });
});
