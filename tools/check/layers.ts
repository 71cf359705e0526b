/** Which folder may import which: the table behind the rules of `ARCHITECTURE.md`. */

import { isProduct } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";
import type { Problem } from "./problem.ts";

/** From the bottom up; a folder imports what stands in a lower row. */
const LAYERS: readonly (readonly string[])[] = [
  ["lib"],
  ["linux"],
  ["kube"],
  ["datastore"],
  ["api"],
  ["policy"],
  ["ipam"],
  ["endpoint"],
  ["cni", "cli", "install-cni"],
  ["main.ts"],
];

/** Imports upwards that are wanted: types and pure codecs only, which the cycle check of the linter keeps free of cycles. */
const UPWARD: readonly { readonly from: string; readonly to: string; readonly why: string }[] = [
  { from: "datastore", to: "api", why: "what is stored is written and read by the codecs of api/" },
];

/** Imports downwards that are not: what is decided there must not depend on how it is kept. */
const FORBIDDEN: readonly { readonly from: string; readonly to: string }[] = [
  { from: "api", to: "datastore" },
  { from: "policy", to: "datastore" },
];

/** `lib` of `src/lib/ip/prefix.ts`; the file name for what lies directly in `src/`. */
export function topFolder(path: string): string {
  return path.split("/")[1] ?? path;
}

function layerOf(folder: string): number {
  return LAYERS.findIndex((folders) => folders.includes(folder));
}

/** Import direction: down only, and never from one role into another. */
export function checkLayers(files: readonly SourceFile[]): Problem[] {
  const problems: Problem[] = [];
  for (const file of files.filter(({ path }) => isProduct(path))) {
    const from = topFolder(file.path);
    if (layerOf(from) === -1) {
      problems.push(`${file.path}: folder "${from}" is in no layer: put it into the table of tools/check/layers.ts`);
      continue;
    }
    for (const { target, line, specifier } of file.imports) {
      if (target === undefined) continue;
      if (!target.startsWith("src/")) {
        problems.push(`${file.path}:${line}: imports ${specifier}, which is not part of the product`);
        continue;
      }
      const to = topFolder(target);
      if (!mayImport(from, to))
        problems.push(`${file.path}:${line}: ${from}/ imports ${target}; the direction is downwards only (ARCHITECTURE.md)`);
    }
  }
  return problems;
}

/** Whether a file of folder `from` may import one of folder `to`. */
export function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  if (UPWARD.some((exception) => exception.from === from && exception.to === to)) return true;
  if (FORBIDDEN.some((exception) => exception.from === from && exception.to === to)) return false;
  const lower = layerOf(to);
  return lower !== -1 && lower < layerOf(from);
}

/** What tests share stands below them: it imports nothing of the other folders of `test/`. */
export function checkTestSupport(files: readonly SourceFile[]): Problem[] {
  return files
    .filter(({ path }) => path.startsWith("test/support/"))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target?.startsWith("test/") === true && !target.startsWith("test/support/"))
        .map(({ target, line }) => `${path}:${line}: imports ${target}; test/support is what the other folders of test/ stand on`),
    );
}

/** What ships imports no package but those that package.json names as its dependencies; `fs` without `node:` is none of them. */
export function checkPackages(files: readonly SourceFile[], dependencies: readonly string[]): Problem[] {
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier, target }) => target === undefined && !/^(?:node|bun):/.test(specifier))
        .filter(({ specifier }) => !dependencies.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
        .map(
          ({ specifier, line }) => `${path}:${line}: imports "${specifier}"; want a package of "dependencies" in package.json, or "node:…"`,
        ),
    );
}

/** The door stays a door: under 100 lines, roles by `import()` only, and nobody imports it. */
export function checkDoor(files: readonly SourceFile[]): Problem[] {
  const problems: Problem[] = [];
  for (const file of files) {
    if (file.path === "src/main.ts") {
      const lines = file.text.split("\n").length;
      if (lines > 100) problems.push(`src/main.ts: ${lines} lines, want 100 at most: it only finds the role`);
      for (const { target, kind, line } of file.imports) {
        if (kind === "static" && target !== undefined && topFolder(target) !== "lib") {
          problems.push(`src/main.ts:${line}: imports ${target} statically; a role is reached by import(), or every start pays for it`);
        }
      }
    }
    for (const { target, line } of file.imports) {
      if (target === "src/main.ts") problems.push(`${file.path}:${line}: imports src/main.ts, the door that nothing imports`);
    }
  }
  return problems;
}
