import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { App, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { buildEdow, type EdowStacks } from '#stacks/edow.ts';
import type { StageName } from '#stacks/stack-names.ts';
import { type StageContext, stageFrom } from '#stacks/stages.ts';

export const ROOT = resolve(import.meta.dirname, '../..');
export const DOWNSTREAM = 'https://downstream.example.com';

// The CDK's own look at templates costs seconds a file; cfn-lint and cdk-nag have tests of their own here.
process.env['CDK_VALIDATION'] = 'false';

/** The flags of cdk.json, without bundling: templates do not depend on what is in the bundles. */
export const testApp = (): App =>
  new App({
    analyticsReporting: false,
    context: {
      ...JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8')).context,
      'aws:cdk:bundling-stacks': [],
    },
  });

export interface BuiltApp extends EdowStacks {
  readonly app: App;
}

export function buildStage(stage: StageName, more: Partial<StageContext> = {}): BuiltApp {
  const app = testApp();
  return {
    app,
    ...buildEdow(app, stageFrom({ stage, downstreamUrl: DOWNSTREAM, version: 'test', ...more })),
  };
}

// Reading a template: values are asserted as they are deployed, intrinsics included.
// biome-ignore lint/suspicious/noExplicitAny: a template is JSON without a schema of its own
export type Resource = { readonly Type: string; readonly Properties: any; readonly [part: string]: unknown };

export const templateOf = (stack: Stack): Template => Template.fromStack(stack);

/** Resources of a type by logical id. */
export const resources = (stack: Stack, type: string): Record<string, Resource> =>
  templateOf(stack).findResources(type) as Record<string, Resource>;
