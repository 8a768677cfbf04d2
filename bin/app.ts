/** The CDK app. The only place that reads the context at synth. */
import { resolve } from 'node:path';
import { App } from 'aws-cdk-lib';
import { codeVersion } from '#stacks/code-version.ts';
import { buildEdow } from '#stacks/edow.ts';
import { type StageSettings, stageFrom } from '#stacks/stages.ts';

const app = new App();
buildEdow(app, chosenStage());

function chosenStage(): StageSettings {
  const context = (name: string): unknown => app.node.tryGetContext(name);
  try {
    return stageFrom({
      stage: context('stage'),
      downstreamUrl: context('downstreamUrl'),
      tenants: context('tenants'),
      version: codeVersion(resolve(import.meta.dirname, '..')),
    });
  } catch (error) {
    // One line that says what to pass: a stack trace helps nobody with a wrong flag.
    console.error(`edow: ${(error as Error).message}`);
    process.exit(1);
  }
}
