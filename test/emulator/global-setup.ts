/**
 * One deployed system for all files of this project: the suite's own local cloud. With EDOW_TEST_CLOUD=environment it
 * is the one that AWS_ENDPOINT_URL and the credentials of the environment lead to (LocalStack, AWS), deployed before by
 * `cdk deploy --all`; EDOW_TEST_STAGE says which stage (default `dev`).
 */
import type { TestProject } from 'vitest/node';
import { environmentCloud } from '#test/cloud/environment-cloud.ts';
import { ownCloud } from '#test/cloud/own-cloud.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.env['EDOW_TEST_CLOUD'] === 'environment') {
    project.provide('target', await environmentCloud());
    return async () => {};
  }
  const begun = Date.now();
  const said: string[] = [];
  const cloud = await ownCloud((line) => said.push(line));
  console.log(`${cloud.target.name}, deployed in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  project.provide('target', cloud.target);
  return async () => {
    const failed = project.vitest.state.getCountOfFailedTests() > 0;
    if (failed) console.log(`logs of the local cloud: ${cloud.stateDir}`);
    await cloud.stop(failed);
  };
}
