/** Every export has a doc comment that says something; the constants of a table share its heading. */

import type { Problem } from "./problem.ts";
import { isProduct, lineAt } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

const EXPORT = /^export (?:abstract |async )*(?:function\*?|class|interface|type|const) (\w+)/gm;
/** Where no doc comment can be found. */
const EXPORT_ELSEWHERE = /^export (?:(?:const|let|var) [[{]|let |var |declare |\{[^}]*\}(?! from))/gm;
/** Not what tools are told. */
const HEADING = /^\/\/ (?!oxlint-|eslint-|@ts-)/;
const CONSTANT = /^(?:export )?const [A-Z][A-Z\d_]*[ :]/;

/** Of what ships: what is for tests alone need not say it. */
export function checkDocComments(files: readonly SourceFile[]): Problem[] {
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n");
      const elsewhere = [...text.matchAll(EXPORT_ELSEWHERE)].map(
        ({ index }) =>
          `${path}:${lineAt(text, index)}: want each export as a function, class, type or const of its own, with a doc comment`,
      );
      const firstOfEachName = new Map([...text.matchAll(EXPORT)].reverse().map((match) => [match[1], match]));
      const unexplained = [...firstOfEachName.values()].reverse().flatMap((match) => {
        const line = lineAt(text, match.index);
        return isExplained(lines, line - 1) ? [] : [`${path}:${line}: "${match[1]}" is exported without a doc comment`];
      });
      return [...unexplained, ...elsewhere];
    });
}

/** Whether a doc comment ends right above the line; for a constant also whether a heading stands above its table. */
function isExplained(lines: readonly string[], at: number): boolean {
  const above = (line: number): string => lines[line - 1] ?? "";
  if (!CONSTANT.test(lines[at] ?? "")) return hasDocComment(lines, at);
  while (CONSTANT.test(above(at))) at--;
  return hasDocComment(lines, at) || HEADING.test(above(at));
}

/** Whether the lines above one end with a doc comment that has a word in it. */
function hasDocComment(lines: readonly string[], end: number): boolean {
  if (!lines[end - 1]?.endsWith("*/")) return false;
  const begin = lines.findLastIndex((line, at) => at < end && line.startsWith("/*"));
  const comment = lines.slice(Math.max(begin, 0), end).join("\n");
  return comment.startsWith("/**") && comment.indexOf("*/") === comment.length - 2 && /\w/.test(comment);
}
