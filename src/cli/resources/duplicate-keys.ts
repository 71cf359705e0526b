/** Keys that stand twice in one object: parsers take the last silently, and what the first said is lost. */

import { isJsonObject } from "../../lib/json.ts";

/** Each costs a parse of the whole text, and nearly none is no duplicate. */
const MAX_TRIES = 20;

/** Where a key stands, in YAML's block style or in JSON with a key a line. */
interface KeyPlace {
  readonly line: number;
  readonly key: string;
  /** Within the text. */
  readonly start: number;
  readonly end: number;
}

/**
 * The first key that stands twice, as `line 7: the key "cidr" stands twice in one object`. What looks like one is put to the test: with another
 * name, both must be in the same object.
 *
 * @param parse of the whole text, which is well formed
 */
export function describeDuplicateKey(text: string, parse: (text: string) => unknown): string | undefined {
  let tries = 0;
  for (const { line, key, start, end } of suspectsIn(text)) {
    if (++tries > MAX_TRIES) return undefined;
    const other = `${key}__again`;
    try {
      if (holdsBoth(parse(`${text.slice(0, start)}"${other}"${text.slice(end)}`), key, other))
        return `line ${line}: the key "${key}" stands twice in one object`;
    } catch {
      // It is no key, such as text in quotes over several lines.
    }
  }
  return undefined;
}

/** Keys that stand below the same one at the same depth, without anything less deep between them. */
function* suspectsIn(text: string): Generator<KeyPlace> {
  let scopes = new Map<number, Set<string>>();
  let at = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const [, blanks = "", dashes = "", key = ""] = /^( *)((?:- +)*)("[\w./-]+"|[\w./-]+) *:/.exec(line) ?? [];
    const least = /^ *-(?: |$)/.test(line) ? line.indexOf("-") : line.search(/\S/);
    if (/^---(\s|$)/.test(line)) scopes = new Map();
    else if (least >= 0) for (const depth of scopes.keys()) if (depth > least) scopes.delete(depth);
    if (key !== "") {
      const depth = blanks.length + dashes.length;
      const keys = scopes.get(depth) ?? new Set();
      const name = key.replaceAll('"', "");
      if (keys.has(name)) yield { line: index + 1, key: name, start: at + depth, end: at + depth + key.length };
      scopes.set(depth, keys.add(name));
    }
    at += line.length + 1;
  }
}

function holdsBoth(value: unknown, key: string, other: string): boolean {
  if (Array.isArray(value)) return value.some((item) => holdsBoth(item, key, other));
  if (!isJsonObject(value)) return false;
  if (Object.hasOwn(value, key) && Object.hasOwn(value, other)) return true;
  return Object.values(value).some((item) => holdsBoth(item, key, other));
}
