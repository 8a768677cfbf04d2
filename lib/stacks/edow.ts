import type { App } from 'aws-cdk-lib';
import { onTable } from '#constructs/access.ts';
import { ENV } from '#core/env-names.ts';
import { pools, type Surroundings, workflows } from '#workflows/deployed.ts';
import { ObservabilityStack } from './observability.ts';
import { PipelineStack } from './pipeline.ts';
import { stackNames } from './stack-names.ts';
import type { StageSettings } from './stages.ts';
import { StateStack } from './state.ts';
import { StubsStack } from './stubs.ts';

export interface EdowStacks {
  readonly state: StateStack;
  readonly stubs?: StubsStack;
  readonly pipeline: PipelineStack;
  readonly observability?: ObservabilityStack;
}

/** All stacks of one stage. */
export function buildEdow(app: App, stage: StageSettings): EdowStacks {
  const names = stackNames(stage.name);
  const state = new StateStack(app, names.state, stage);
  const stubs = 'stub' in stage.downstream ? new StubsStack(app, names.stubs, stage) : undefined;
  const pipeline = new PipelineStack(app, names.pipeline, {
    stage,
    books: state,
    pools: pools({
      downstream: downstreamOf(stage, stubs),
      accounts: onTable(ENV.accountsTable, state.accounts, ['GetItem', 'PutItem', 'UpdateItem']),
    }),
    workflows,
    ...(stubs && { stubs }),
  });
  const observability = stage.observability
    ? new ObservabilityStack(app, names.observability, stage, pipeline.alarms)
    : undefined;
  return { state, pipeline, ...(stubs && { stubs }), ...(observability && { observability }) };
}

/** What the reference workers read: see runtime/downstream.ts. */
function downstreamOf(stage: StageSettings, stubs?: StubsStack): Surroundings['downstream'] {
  if (stubs) return { uses: [onTable(ENV.stubTable, stubs.stub, ['GetItem', 'UpdateItem'])] };
  const url = 'url' in stage.downstream ? stage.downstream.url : '';
  return { environment: { [ENV.downstreamUrl]: url }, uses: [] };
}
