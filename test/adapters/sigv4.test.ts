import { describe, expect, test } from 'vitest';
import { encodedPath, signed } from '#adapters/sigv4.ts';

/** The examples of AWS's page "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk". */
describe("AWS's own examples", () => {
  const example = { signingName: 's3', region: 'us-east-1', time: Date.UTC(2013, 4, 24) };
  const key = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  };
  const at = (path: string): URL => new URL(path, 'https://examplebucket.s3.amazonaws.com');

  test('GET Object', async () => {
    const headers = await signed(
      { ...example, method: 'GET', url: at('/test.txt'), headers: { range: 'bytes=0-9' }, body: '' },
      key,
    );
    expect(headers['authorization']).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
  });

  test('PUT Object: the hash of its body goes with it (the signer leaves `date` unsigned, so not the whole example)', async () => {
    const headers = await signed(
      {
        ...example,
        method: 'PUT',
        url: at(`/${encodedPath('test$file.text')}`),
        headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
        body: 'Welcome to Amazon S3.',
      },
      key,
    );
    expect(headers).toMatchObject({
      'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
      'x-amz-date': '20130524T000000Z',
    });
  });
});

test('a session token is sent and signed', async () => {
  const headers = await signed(
    {
      method: 'GET',
      url: new URL('https://h/b/k'),
      headers: {},
      body: '',
      signingName: 's3',
      region: 'eu-west-1',
      time: 0,
    },
    { accessKeyId: 'ASIA', secretAccessKey: 's', sessionToken: 'token' },
  );
  expect(headers['x-amz-security-token']).toBe('token');
  expect(headers['authorization']).toContain(
    'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,',
  );
});

test('a path escapes all but unreserved characters and slashes', () => {
  expect(encodedPath("a/B-_.~9 é+'()*!&=%")).toBe('a/B-_.~9%20%C3%A9%2B%27%28%29%2A%21%26%3D%25');
});
