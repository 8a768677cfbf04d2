/** Runs in each worker before its test file: turns the process to the deployed system. */
import { inject } from 'vitest';
import { trustCertificate } from '#local/certificate.ts';

const { variables, certificate } = inject('target');
if (certificate) {
  for (const name of Object.keys(process.env)) if (/^(AWS|CDK)_/.test(name)) delete process.env[name];
  trustCertificate(certificate);
}
Object.assign(process.env, variables);
