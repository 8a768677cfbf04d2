/** The CDK app. The only place that reads the context at synth. */
import { resolve } from 'node:path';
import { App } from 'aws-cdk-lib';
import { codeVersion } from '#stacks/code-version.ts';
import { buildEdow } from '#stacks/edow.ts';
import { stageFrom } from '#stacks/stages.ts';

const app = new App();
const context = (name: string): unknown => app.node.tryGetContext(name);
try {
  buildEdow(
    app,
    stageFrom({
      stage: context('stage'),
      downstreamUrl: context('downstreamUrl'),
      tenants: context('tenants'),
      version: codeVersion(resolve(import.meta.dirname, '..')),
    }),
  );
} catch (error) {
  // One line that says what to do; the stack trace of a wrong flag helps nobody.
  console.error(`edow: ${(error as Error).message}`);
  process.exitCode = 1;
}
