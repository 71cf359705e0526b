/** Rules about files rather than imports: length, folder READMEs, tests that the suite knows, nothing of one machine. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "./problem.ts";
import { lineAt } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

const LONGEST_FILE = 400;
const LONGEST_README = 15;

/** A file is one concept: 400 lines at most. */
export function checkLength(files: readonly SourceFile[]): Problem[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split("\n").length;
    return lines > LONGEST_FILE ? [`${path}: ${lines} lines, want ${LONGEST_FILE} at most: split it by concept`] : [];
  });
}

/** Every folder of `src/` opens with a README of at most fifteen lines. */
export function checkReadmes(root: string): Problem[] {
  const folders = new Set<string>();
  for (const path of new Bun.Glob("src/**/*.ts").scanSync({ cwd: root })) {
    for (let folder = parentOf(path); folder !== "src"; folder = parentOf(folder)) folders.add(folder);
  }
  return [...folders].sort().flatMap((folder) => {
    const readme = join(root, folder, "README.md");
    if (!existsSync(readme)) return [`${folder}/README.md: missing: say what lives here, who may import it, what it must never do`];
    const text = readFileSync(readme, "utf8").trim();
    if (text === "") return [`${folder}/README.md: empty: say what lives here, who may import it, what it must never do`];
    const lines = text.split("\n").length;
    return lines > LONGEST_README ? [`${folder}/README.md: ${lines} lines, want ${LONGEST_README} at most`] : [];
  });
}

/** Every test file belongs to a part of the suite, or `npm test` would silently leave it out. @param run those that some part runs */
export function checkTestsAreRun(files: readonly SourceFile[], run: readonly string[]): Problem[] {
  return files
    .filter(({ path }) => path.endsWith(".test.ts") && !run.includes(path))
    .map(({ path }) => `${path}: no part of the suite runs it: see tools/test/parts.ts`);
}

/** A test that only runs alone, or a suite that only runs that test, is a leftover. */
export function checkNoFocus(files: readonly SourceFile[]): Problem[] {
  return files
    .filter(({ path }) => path.endsWith(".test.ts"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\.only\s*[.(]/g)].map((match) => `${path}:${lineAt(text, match.index)}: ".only" leaves every other test out`),
    );
}

/** `any` and switched-off type errors need no reason that could be good enough. */
export function checkTypeEscapes(files: readonly SourceFile[]): Problem[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(/@ts-(?:ignore|nocheck)/g)]
      .filter(() => !path.startsWith("tools/check/"))
      .map((match) => `${path}:${lineAt(text, match.index)}: ${match[0]} hides a type error: repair it`),
  );
}

/** The checks look at TypeScript below three folders; code elsewhere, or in another form, they would silently leave out. */
export function checkPlaces(trackedFiles: readonly string[]): Problem[] {
  return trackedFiles
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !/^(?:src|test|tools)\/.*\.ts$|^tools\/run\.mjs$/.test(path))
    .map((path) => `${path}: no check looks at it; want TypeScript, a .ts file below src/, test/ or tools/`);
}

/** Folders that exist on the machine of whoever wrote a line, and nowhere else. */
const MACHINE_PATH = /(?<![\w.$}*-])\/(?:work|root|home\/[a-z]+)\/[\w.]/g;

/** Nothing in the repository may name a folder of one machine. */
export function checkMachinePaths(root: string, trackedFiles: readonly string[]): Problem[] {
  return trackedFiles
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), "utf8");
      return [...text.matchAll(MACHINE_PATH)].map(
        (match) => `${path}:${lineAt(text, match.index)}: names "${match[0]}…", a folder of one machine`,
      );
    });
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
