/** The local cloud speaks TLS only, as the TLS-only policies of queues and topics hold there too. */

import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { LocalCloudError } from './errors.ts';
import { runProgram } from './run-program.ts';

const VALID_DAYS = 365;
const SPARE_DAYS = 30; // an emulator may run for weeks on the certificate that it started with
const DAY_MS = 86_400_000;

export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Makes the pair in `folder`, or keeps the one there: clients that trust it then survive a restart of the emulator. */
export async function ensureCertificate(folder: string, python: string): Promise<CertificateFiles> {
  const files = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
  if (isUsable(files)) return files;
  const script = join(import.meta.dirname, 'make_certificate.py');
  const logFile = join(folder, 'certificate.log');
  const args = ['-I', script, files.certificate, files.key, String(VALID_DAYS)];
  const { code, tail } = await runProgram({ program: python, args, env: process.env, cwd: folder, logFile });
  if (code !== 0) {
    throw new LocalCloudError(
      'certificate_failed',
      `the certificate of the local cloud could not be made: ${tail.at(-1) ?? 'no output'} (log: ${logFile})`,
      'Delete the folder .edow and run this again.',
    );
  }
  return files;
}

function isUsable(files: CertificateFiles): boolean {
  if (!existsSync(files.key) || !existsSync(files.certificate)) return false;
  const { validToDate } = new X509Certificate(readFileSync(files.certificate));
  return validToDate.getTime() - Date.now() > SPARE_DAYS * DAY_MS;
}

/** NODE_EXTRA_CA_CERTS is read when Node starts only: this is for the process that is running already. */
export function trustCertificate(certificate: string): void {
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, readFileSync(certificate, 'utf8')]);
}
