/** What a check is. It looks at one thing that the product needs of any cloud, by AWS's own API and nothing else. */
import type { Bench } from './bench.ts';

/** `differs`: the cloud answers, but otherwise than AWS. `missing`: it refuses the call or drops the setting. */
export type Finding = 'works' | { readonly differs: string } | { readonly missing: string };

export interface Check {
  /** `service.what`, stable: known differences name it. */
  readonly id: string;
  /** What the product relies on, in one line. */
  readonly need: string;
  readonly look: (bench: Bench) => Promise<Finding>;
}

/** Answers of clouds that do not have an operation. */
const NOT_THERE = /InvalidAction|NotImplemented|UnknownOperation|UnsupportedOperation|UnknownError|501/;

/** Runs one check; an error that the check did not expect is a finding too. */
export async function findingOf(check: Check, bench: Bench): Promise<Finding> {
  try {
    return await check.look(bench);
  } catch (error) {
    const { name, message } = error as Error;
    const said = `${name}: ${message}`.slice(0, 160);
    return NOT_THERE.test(said) ? { missing: said } : { differs: said };
  }
}

/** `works` when both are the same JSON; otherwise what was seen. */
export function same(seen: unknown, wanted: unknown): Finding {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(wanted)];
  return left === right ? 'works' : { differs: `${left?.slice(0, 120)} instead of ${right?.slice(0, 120)}` };
}

/** @param seen what the cloud shows of a setting; undefined: it dropped it */
export const present = (what: string, seen: unknown): Finding =>
  seen === undefined || seen === null || seen === '' ? { missing: what } : 'works';

/** The first finding that is not `works`. */
export const every = (...findings: readonly Finding[]): Finding =>
  findings.find((finding) => finding !== 'works') ?? 'works';
