/** The source as the architecture rules see it: paths, text, and who imports whom. */

import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { withoutComments } from "./code-text.ts";

export interface Import {
  /** As written. */
  readonly specifier: string;
  /** Path from the repository's root for a relative import, undefined for a package. */
  readonly target: string | undefined;
  /** `type`: erased. `static`: loaded with the importer, as by `require()` too. `dynamic`: loaded when the code gets there. */
  readonly kind: "type" | "static" | "dynamic";
  readonly line: number;
}

export interface SourceFile {
  /** From the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

const STATIC_IMPORT = /^(?:import|export)\s+(type\s)?(?:[^;"']*?\sfrom\s+)?["']([^"']+)["']/gm;
const CALLED_IMPORT = /\b(import|require)\(\s*["'`]([^"'`]+)["'`]/g;

/** Makes a {@link SourceFile} of text; tests use it directly. */
export function toSourceFile(path: string, text: string): SourceFile {
  const code = withoutComments(text);
  const imports: Import[] = [];
  const add = (specifier: string, kind: Import["kind"], index: number): void => {
    const target = specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : undefined;
    imports.push({ specifier, target, kind, line: lineAt(text, index) });
  };
  for (const match of code.matchAll(STATIC_IMPORT)) add(match[2] ?? "", match[1] === undefined ? "static" : "type", match.index);
  for (const match of code.matchAll(CALLED_IMPORT)) add(match[2] ?? "", match[1] === "require" ? "static" : "dynamic", match.index);
  return { path, text, imports };
}

/** Reads `src/`, `tools/` and `test/`, sorted by path. */
export function readSourceTree(root: string): SourceFile[] {
  const paths = [...new Bun.Glob("{src,tools,test}/**/*.ts").scanSync({ cwd: root })]
    .filter((path) => !path.includes("node_modules"))
    .sort();
  return paths.map((path) => toSourceFile(path, readFileSync(join(root, path), "utf8")));
}

/** 1 for the first line. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/** Whether a file is part of the product rather than of its tests. */
export function isProduct(path: string): boolean {
  return path.startsWith("src/") && !path.endsWith(".test.ts");
}
