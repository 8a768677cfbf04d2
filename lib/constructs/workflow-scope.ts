import type { Construct, IConstruct } from 'constructs';
import type { WorkflowContract } from '#core/contract.ts';
import type { Reference } from '#core/mapping.ts';
import type { Dispatch } from './dispatch.ts';

/** A RunTask as its workflow knows it. */
export interface Step {
  readonly path: string;
  readonly stepKey: string;
  readonly stateName: string;
  readonly references: readonly Reference[];
  /** Its task's fields are added to the state. */
  readonly exposes: boolean;
}

/** What a RunTask learns from the workflow around it. */
export interface WorkflowScope {
  readonly contract: WorkflowContract;
  readonly dispatch: Dispatch;
  readonly steps: Step[];
}

const scopes = new WeakMap<IConstruct, WorkflowScope>();

export const openScope = (construct: Construct, scope: WorkflowScope): void => {
  scopes.set(construct, scope);
};

/** @throws Error when no workflow is around the construct */
export function scopeOf(construct: IConstruct): WorkflowScope {
  for (const ancestor of [...construct.node.scopes].reverse()) {
    const scope = scopes.get(ancestor);
    if (scope) return scope;
  }
  throw new Error(
    `${construct.node.path}: a RunTask stands outside any Workflow; build it in the "states" function of a Workflow, with the scope that it is handed`,
  );
}
