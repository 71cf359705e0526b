/** Imports run one way, `import()` and types among them: the linter's rule against cycles does not follow `import()`. */

import type { Problem } from "./problem.ts";
import { isProduct, type SourceFile } from "./source-tree.ts";

/** One problem for each circle that a walk along the imports closes. */
export function checkCircles(files: readonly SourceFile[]): Problem[] {
  const byPath = new Map(files.filter(({ path }) => isProduct(path)).map((file) => [file.path, file]));
  const problems: Problem[] = [];
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start !== -1) problems.push(`${[...way.slice(start), path].join(" -> ")}: imports run in a circle; move what both need below them`);
    if (start !== -1 || done.has(path)) return;
    const targets = byPath.get(path)?.imports.flatMap(({ target }) => target ?? []) ?? [];
    for (const target of new Set(targets)) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of byPath.keys()) visit(path, []);
  return problems;
}
