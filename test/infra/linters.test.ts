/** Independent tools read what the CDK wrote: cfn-lint the templates, asl-validator the definitions. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aws_stepfunctions as sfn } from 'aws-cdk-lib';
import { beforeAll, describe, expect, it } from 'vitest';
import { definitionOf } from '#constructs/workflow.ts';
import { STAGE_NAMES } from '#stacks/stack-names.ts';
import { ensureVenv } from '../../lib/local/venv.ts';
import { buildStage } from './edow-app.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
/** It comes without types. */
const validate: (definition: unknown) => { isValid: boolean; errors: unknown[] } = require('asl-validator');
const built = STAGE_NAMES.map((stage) => buildStage(stage));

describe('asl-validator', () => {
  const machines = built.flatMap(({ app }) =>
    app.node.findAll().filter((construct) => construct instanceof sfn.StateMachine),
  );

  it('accepts each of 6 definitions', () => {
    expect(machines).toHaveLength(6);
    const states: number[] = [];
    for (const machine of machines) {
      const text = definitionOf(machine).replaceAll('arn:*:', 'arn:aws:');
      const definition = JSON.parse(
        text.replaceAll(
          '"FunctionName":"*"',
          '"FunctionName":"arn:aws:lambda:us-east-1:123456789012:function:dispatch"',
        ),
      );
      const { isValid, errors } = validate(definition);
      expect(errors).toEqual([]);
      expect(isValid).toBe(true);
      states.push(Object.keys(definition.States).length);
    }
    // Of order and payout, in each stage.
    expect(states).toEqual([6, 2, 6, 2, 6, 2]);
  });

  it('refuses a broken one', () => {
    const [machine] = machines;
    const definition = JSON.parse(machine ? definitionOf(machine) : '{}');
    definition.States.ShipOrder.Next = 'Nowhere';
    expect(validate(definition).isValid).toBe(false);
  });
});

describe('cfn-lint', () => {
  let python: string;
  beforeAll(async () => {
    python = await ensureVenv('check');
  }, 300_000);

  it('finds no error in 10 templates', async () => {
    const templates = built.flatMap(({ app }) =>
      app.synth().stacks.map(({ templateFullPath }) => templateFullPath),
    );
    expect(templates).toHaveLength(10);
    // Warnings are about redundancy that the CDK always writes (DependsOn beside GetAtt).
    const { stdout } = await run(
      join(python, '..', 'cfn-lint'),
      ['--format', 'parseable', '--ignore-checks', 'W', '--non-zero-exit-code', 'error', '--', ...templates],
      { maxBuffer: 10_000_000 },
    ).catch((error: { stdout: string; stderr: string }) => ({ stdout: error.stdout + error.stderr }));
    expect(stdout).toBe('');
  }, 120_000);
});
