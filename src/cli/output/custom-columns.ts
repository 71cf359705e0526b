/** Columns of one's own choice: `NAME:.metadata.name,ZONE:.metadata.labels.netplug\.io/zone`. */

import { toChoice } from "../../lib/choice.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";
import { type Column, toCellText } from "./columns.ts";

type Step = { readonly key: string } | { readonly index: number } | { readonly all: true };

/**
 * Parses what follows `custom-columns=`. An entry without a path is the heading of a column that the kind has anyway.
 *
 * @throws {UsageError}
 */
export function parseCustomColumns(spec: string, known: readonly Column[]): readonly Column[] {
  return spec.split(",").map((entry) => {
    const colon = entry.indexOf(":");
    const heading = colon < 0 ? entry : entry.slice(0, colon);
    if (heading === "") throw new UsageError(`read custom-columns: got an entry without a heading, want HEADING:PATH`);
    if (colon === entry.length - 1)
      throw new UsageError(`read custom-columns: got ${quote(entry)}, want a path such as .metadata.name behind the colon`);
    if (colon >= 0) return toColumn(heading, parsePath(entry.slice(colon + 1)));
    const column = known.find((candidate) => candidate.heading === heading.toUpperCase());
    if (column !== undefined) return column;
    throw new UsageError(
      `read custom-columns: got ${quote(heading)}, want ${toChoice(["HEADING:PATH", ...known.map((one) => one.heading)])}`,
    );
  });
}

function toColumn(heading: string, path: readonly Step[]): Column {
  return {
    heading,
    cell: (resource) => {
      const found = find([resource], path);
      return found.length === 0 ? "<none>" : found.map(toCellText).join(",");
    },
  };
}

/**
 * ```
 * path := ["{"] step* ["}"]
 * step := "." key | "[" number "]" | "[*]" | "['" any "']"        a dot inside a key is written "\."
 * ```
 */
function parsePath(text: string): readonly Step[] {
  const path = text.replace(/^\{(.*)\}$/s, "$1");
  const steps: Step[] = [];
  const pattern = /\.((?:\\.|[^.[\\])+)|\[(\d+|\*)\]|\[(?:'([^']*)'|"([^"]*)")\]/gy;
  const normal = path.startsWith(".") || path.startsWith("[") ? path : `.${path}`;
  while (pattern.lastIndex < normal.length) {
    const start = pattern.lastIndex;
    const match = pattern.exec(normal);
    if (match === null)
      throw new UsageError(`read custom-columns: got ${quote(normal.slice(start))} in path ${quote(text)}, want .key, [N] or [*]`);
    const [, key, index, single, double] = match;
    if (index !== undefined) steps.push(index === "*" ? { all: true } : { index: Number(index) });
    else steps.push({ key: key === undefined ? (single ?? double ?? "") : key.replace(/\\(.)/g, "$1") });
  }
  return steps;
}

function find(values: readonly unknown[], path: readonly Step[]): readonly unknown[] {
  let found = values;
  for (const step of path) {
    found = found.flatMap((value) => {
      if ("all" in step) return Array.isArray(value) ? value : typeof value === "object" && value !== null ? Object.values(value) : [];
      if ("index" in step) return Array.isArray(value) && step.index < value.length ? [value[step.index]] : [];
      return isJsonObject(value) && Object.hasOwn(value, step.key) ? [value[step.key]] : [];
    });
  }
  return found.filter((value) => value !== undefined && value !== null);
}
