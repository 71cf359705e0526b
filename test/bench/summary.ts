/** Percentiles of what was measured, and candidates measured in turns. */

export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

/** Nearest-rank percentiles. @throws RangeError for no values */
export function summarize(values: readonly number[]): Summary {
  if (values.length === 0) throw new RangeError("summarize: got no value, want one at least");
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0);
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), min: at(0), max: at(1) };
}

/** `9.8 / 11.2 / 14.0 ms`. */
export function toText({ p50, p90, p99 }: Summary, unit = "ms"): string {
  return `${p50.toFixed(1)} / ${p90.toFixed(1)} / ${p99.toFixed(1)} ${unit}`;
}

/** Two decimals: more is noise. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** One thing to measure: `measure` returns milliseconds. */
export interface Candidate<Name extends string> {
  readonly name: Name;
  readonly measure: (round: number) => number | Promise<number>;
}

/**
 * Measures the candidates in turns, each first as often as the others, so that whatever else the machine does hits all
 * alike. The first `warmUps` rounds are not counted.
 */
export async function interleave<Name extends string>(
  candidates: readonly Candidate<Name>[],
  rounds: number,
  warmUps = 5,
): Promise<Readonly<Record<Name, readonly number[]>>> {
  const values = Object.fromEntries(candidates.map(({ name }) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let turn = 0; turn < rounds + warmUps; turn++) {
    const shift = turn % candidates.length;
    for (const { name, measure } of [...candidates.slice(shift), ...candidates.slice(0, shift)]) {
      const value = await measure(turn);
      if (turn >= warmUps) values[name].push(value);
    }
  }
  return values;
}
