/** Where text stops being YAML: the parser itself says what it met, and not where. */

import { messageOf } from "../../lib/errors.ts";

/** Longer documents are told by their first line only: the search below takes time. */
const MAX_SEARCHED_LINES = 2_000;

/** One document of a stream, without the `---` before it. */
interface Part {
  readonly lines: readonly string[];
  /** Counted from 1. */
  readonly firstLine: number;
}

/** Place and fault, e.g. `document 2, near line 7: Unexpected token`. Only for text that the parser refused. */
export function describeYamlFault(text: string, thrown: unknown): string {
  const parts = split(text);
  for (const [index, part] of parts.entries()) {
    const fault = faultOf(part.lines.join("\n"));
    if (fault === undefined) continue;
    const line = part.firstLine + (part.lines.length > MAX_SEARCHED_LINES ? 0 : goodLines(part.lines));
    return `${parts.length === 1 ? "" : `document ${index + 1}, `}near line ${line}: ${fault}`;
  }
  return toFault(thrown);
}

/** A `---` at the beginning of a line is the end of a document wherever it stands. */
function split(text: string): readonly Part[] {
  const parts: { lines: string[]; firstLine: number }[] = [{ lines: [], firstLine: 1 }];
  for (const [index, line] of text.split("\n").entries()) {
    if (/^---(\s|$)/.test(line) && parts.at(-1)?.lines.every((before) => /^\s*(#.*)?$/.test(before)) === false)
      parts.push({ lines: [], firstLine: index + 1 });
    parts.at(-1)?.lines.push(line);
  }
  return parts;
}

/** How many lines from the first on are YAML by themselves: what is wrong begins behind them. */
function goodLines(lines: readonly string[]): number {
  for (let count = lines.length - 1; count > 0; count--) {
    if (faultOf(lines.slice(0, count).join("\n")) === undefined) return count;
  }
  return 0;
}

function faultOf(text: string): string | undefined {
  try {
    Bun.YAML.parse(text);
    return undefined;
  } catch (thrown) {
    return toFault(thrown);
  }
}

function toFault(thrown: unknown): string {
  if (thrown instanceof RangeError) return "too many levels inside each other";
  return messageOf(thrown).replace(/^YAML Parse error: /, "");
}
