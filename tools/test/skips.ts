/** What was skipped, in few lines. */

import { goForCluster } from "../prerequisites/cluster-programs.ts";
import { wantedGo } from "../prerequisites/go-compiler.ts";
import type { TestCase } from "./junit.ts";
import { needOf } from "./needs.ts";

const WANTED: Readonly<Record<string, () => string>> = {
  cluster: () => `${goForCluster()}, which builds a real Kubernetes`,
  go: () => wantedGo(),
  root: () => "root",
};

/** A line for each need that several lack, and one for every other test. */
export function describeSkips(skipped: readonly TestCase[]): readonly string[] {
  const lines: string[] = [];
  for (const [need, cases] of Map.groupBy(skipped, ({ name }) => needOf(name))) {
    const wanted = need === undefined ? undefined : WANTED[need]?.();
    if (wanted !== undefined && cases.length > 1) lines.push(`${cases.length} tests want ${wanted}`);
    else lines.push(...cases.map(({ file, name }) => `${file}: ${name}`));
  }
  return lines;
}
