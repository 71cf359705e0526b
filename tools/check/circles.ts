/** Imports run one way, `import()` and types among them: the linter's rule against cycles does not follow `import()`. */

import type { Problem } from "./problem.ts";
import { isProduct, type SourceFile } from "./source-tree.ts";

/** What each imports, and where. */
type ImportGraph = Map<string, Map<string, string>>;

/** One problem for each circle of files that a walk along the imports closes. */
export function checkCircles(files: readonly SourceFile[]): Problem[] {
  const graph: ImportGraph = new Map();
  for (const { from, to, where } of importsOf(files)) addTo(graph, from, to, where);
  return findCircles(graph).map((way) => `${way.join(" -> ")}: imports run in a circle; move what both need below them`);
}

/**
 * One problem for each circle of folders that lie beside each other. Files that lie beside folders connect them, or are what all of them
 * stand on: they may import them, and be imported.
 */
export function checkFolderCircles(files: readonly SourceFile[]): Problem[] {
  const graph: ImportGraph = new Map();
  for (const { from, to, where } of importsOf(files)) {
    const [source, target] = [from.split("/"), to.split("/")];
    const depth = source.findIndex((part, at) => part !== target[at]) + 1;
    if (depth === 0 || depth === source.length || depth === target.length) continue;
    addTo(graph, source.slice(0, depth).join("/"), target.slice(0, depth).join("/"), where);
  }
  return findCircles(graph).map((way) => {
    const steps = way.slice(1).map((folder, at) => `${folder} (${graph.get(way[at] ?? "")?.get(folder)})`);
    return `${[way[0], ...steps].join(" -> ")}: folders import each other in a circle; want one direction`;
  });
}

function importsOf(files: readonly SourceFile[]): { readonly from: string; readonly to: string; readonly where: string }[] {
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, imports }) =>
      imports.flatMap(({ target, line }) => (target === undefined ? [] : [{ from: path, to: target, where: `${path}:${line}` }])),
    );
}

function addTo(graph: ImportGraph, from: string, to: string, where: string): void {
  const targets = graph.get(from) ?? new Map<string, string>();
  if (!targets.has(to)) targets.set(to, where);
  graph.set(from, targets);
}

function findCircles(graph: ImportGraph): (readonly string[])[] {
  const circles: (readonly string[])[] = [];
  const done = new Set<string>();
  const visit = (at: string, way: readonly string[]): void => {
    const start = way.indexOf(at);
    if (start !== -1) circles.push([...way.slice(start), at]);
    if (start !== -1 || done.has(at)) return;
    for (const target of graph.get(at)?.keys() ?? []) visit(target, [...way, at]);
    done.add(at);
  };
  for (const from of graph.keys()) visit(from, []);
  return circles;
}
