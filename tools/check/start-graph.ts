/** What a call of the plugin loads before it does anything: every module costs each ADD some of its time. */

import type { Problem } from "./problem.ts";
import { topFolder } from "./layers.ts";
import type { SourceFile } from "./source-tree.ts";

export interface StartBudget {
  /** Modules of ours that are loaded statically. */
  readonly modules: number;
  /** Their code together, in bytes: types and comments are not loaded, so they are free. */
  readonly codeBytes: number;
}

/** Little above what the plugin loads today. Raising it wants a measured start (`npm run bench`) in the same change. */
export const CNI_START_BUDGET: StartBudget = { modules: 170, codeBytes: 370_000 };

/** Other roles, and the Kubernetes client, which is loaded by the calls that need it. */
const FORBIDDEN_FOLDERS: readonly string[] = ["cli", "install-cni", "kube"];

const TYPE_REMOVER = new Bun.Transpiler({ loader: "ts", target: "bun" });

interface Step {
  readonly path: string;
  readonly via: Step | undefined;
}

/** The files that importing `entry` loads, each with the way that leads to it. */
export function staticClosure(files: readonly SourceFile[], entry: string): Map<string, readonly string[]> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Map<string, readonly string[]>();
  const queue: Step[] = [{ path: entry, via: undefined }];
  for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
    if (reached.has(step.path)) continue;
    const way: string[] = [];
    for (let at: Step | undefined = step; at !== undefined; at = at.via) way.unshift(at.path);
    reached.set(step.path, way);
    for (const { target, kind } of byPath.get(step.path)?.imports ?? []) {
      if (kind === "static" && target !== undefined) queue.push({ path: target, via: step });
    }
  }
  return reached;
}

/** Files that only decide what to load: what they import() into src/cni/ is loaded by a call of the plugin. */
const DOORS: readonly string[] = ["src/main.ts", "src/cni/program.ts"];

/** The CNI roles as the doors reach them. */
export function cniEntries(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => DOORS.includes(path))
    .flatMap(({ imports }) => imports)
    .filter(({ kind, target }) => kind === "dynamic" && target !== undefined && topFolder(target) === "cni")
    .map(({ target }) => target ?? "");
}

/** No package, no `node:` module, no YAML, no command line framework, no Kubernetes client on the CNI path; and a budget. */
export function checkCniStart(files: readonly SourceFile[], budget: StartBudget = CNI_START_BUDGET): Problem[] {
  if (!files.some(({ path }) => path === "src/main.ts")) return [];
  const entries = cniEntries(files);
  if (entries.length === 0) return ["src/main.ts: reaches no role in src/cni/ by import()"];
  return checkEntries(files, entries, budget);
}

function checkEntries(files: readonly SourceFile[], entries: readonly string[], budget: StartBudget): Problem[] {
  const problems: Problem[] = [];
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Map(entries.flatMap((entry) => [...staticClosure(files, entry)]));
  let codeBytes = 0;
  for (const [path, way] of reached) {
    const file = byPath.get(path);
    if (file === undefined) {
      problems.push(`${way.join(" → ")}: there is no such file`);
      continue;
    }
    codeBytes += TYPE_REMOVER.transformSync(file.text).length;
    if (FORBIDDEN_FOLDERS.includes(topFolder(path))) problems.push(`${path} is loaded by every call of the plugin: ${way.join(" → ")}`);
    if (/\bBun\.YAML\b/.test(file.text)) problems.push(`${path} uses Bun.YAML on the CNI path: ${way.join(" → ")}`);
    for (const { specifier, target, kind } of file.imports) {
      if (kind !== "static" || target !== undefined || specifier === "bun:ffi") continue;
      problems.push(`${path} loads "${specifier}" in every call of the plugin: ${way.join(" → ")}; import() it where it is needed`);
    }
  }
  if (reached.size > budget.modules)
    problems.push(`src/cni: a call of the plugin loads ${reached.size} modules at its start, budget ${budget.modules}`);
  if (codeBytes > budget.codeBytes)
    problems.push(`src/cni: a call of the plugin loads ${codeBytes} bytes of code at its start, budget ${budget.codeBytes}`);
  return problems;
}
