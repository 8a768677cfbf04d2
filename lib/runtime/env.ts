/** The environment, read once when a function starts. Names are in core's env-names. */
import { ContractError } from '#core/errors.ts';

/** @throws ContractError naming the variable: a stack that forgets one fails at the first call, loudly. */
export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new ContractError(
      `environment variable ${name} is not set: deploy the stack again, it sets every variable`,
    );
  return value;
}

/** A variable that holds JSON written by the stack. */
export const requiredJson = <T>(name: string): T => JSON.parse(required(name)) as T;

/** A variable that not every stack sets. */
export const optional = (name: string): string | undefined => process.env[name] || undefined;
