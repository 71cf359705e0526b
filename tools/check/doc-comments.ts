/** Every export says in a sentence what it is for; the constants of a table share its heading. */

import type { Problem } from "./problem.ts";
import { isProduct, lineAt } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

const EXPORT = /^export (?:abstract |async )*(?:function\*?|class|interface|type|const) (\w+)/gm;
const CONSTANT = /^(?:export )?const [A-Z][A-Z\d_]*[ :]/;

/** Of what ships: what is for tests alone need not say it. */
export function checkDocComments(files: readonly SourceFile[]): Problem[] {
  return files
    .filter(({ path }) => isProduct(path))
    .flatMap(({ path, text }) => {
      const lines = text.split("\n");
      const firstOfEachName = new Map([...text.matchAll(EXPORT)].reverse().map((match) => [match[1], match]));
      return [...firstOfEachName.values()].reverse().flatMap((match) => {
        const line = lineAt(text, match.index);
        return isExplained(lines, line - 1)
          ? []
          : [`${path}:${line}: "${match[1]}" is exported without a sentence that says what it is for`];
      });
    });
}

/** Whether a doc comment ends right above the line; for a constant also whether a heading stands above its table. */
function isExplained(lines: readonly string[], at: number): boolean {
  const above = (line: number): string => lines[line - 1] ?? "";
  if (!CONSTANT.test(lines[at] ?? "")) return above(at).endsWith("*/");
  while (CONSTANT.test(above(at))) at--;
  return /\*\/$|^\/\/ /.test(above(at));
}
