import { trustCertificate } from '#local/certificate.ts';
import type { Target } from './target.ts';

/** Turns this process to the cloud of the target: clients made from here on use it. */
export function enter({ variables, certificate }: Target): void {
  if (certificate) {
    for (const name of Object.keys(process.env)) if (/^(AWS|CDK)_/.test(name)) delete process.env[name];
    trustCertificate(certificate);
  }
  Object.assign(process.env, variables);
}
