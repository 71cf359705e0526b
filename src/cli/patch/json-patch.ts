/** JSON patch. */

import { isJsonObject } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";

type Operation = Readonly<Record<string, unknown>>;

/**
 * Applies the operations one after the other, all or none.
 *
 * @see RFC 6902
 * @throws {CommandFailed} naming the operation that cannot be done
 */
export function applyJsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new CommandFailed(`apply patch: got ${quoteValue(patch)}, want a list of operations for --type json`);
  return patch.reduce((value: unknown, operation: unknown, index) => applyOperation(value, operation, index + 1), structuredClone(target));
}

function applyOperation(root: unknown, operation: unknown, number: number): unknown {
  const fail = (fault: string): never => {
    throw new CommandFailed(`apply patch: operation ${number}: ${fault}`);
  };
  if (!isJsonObject(operation)) return fail(`got ${quoteValue(operation)}, want an object`);
  const pathOf = (key: "path" | "from"): readonly string[] =>
    parsePointer(operation[key]) ?? fail(`${key}: got ${quoteValue(operation[key] ?? null)}, want a text such as "/spec/disabled"`);
  const valueOf = (given: Operation): unknown => (Object.hasOwn(given, "value") ? given["value"] : fail("value: is missing"));
  const path = pathOf("path");
  const at = (steps: readonly string[]): unknown => {
    const found = lookUp(root, steps);
    return found === undefined ? fail(`there is nothing at ${quote(toPointer(steps))}`) : found.value;
  };
  const change = (from: unknown, steps: readonly string[], edit: Edit): unknown =>
    edited(from, steps, edit) ?? fail(`there is no place ${quote(toPointer(steps.slice(1)))}`);
  switch (operation["op"]) {
    case "add":
      return change({ root }, ["root", ...path], { insert: structuredClone(valueOf(operation)) });
    case "replace":
      at(path);
      return change({ root }, ["root", ...path], { replace: structuredClone(valueOf(operation)) });
    case "remove":
      at(path);
      return change({ root }, ["root", ...path], { remove: true });
    case "copy":
      return change({ root }, ["root", ...path], { insert: structuredClone(at(pathOf("from"))) });
    case "move": {
      const from = pathOf("from");
      if (path.length > from.length && from.every((step, index) => path[index] === step))
        return fail("got a place inside itself to move to");
      const moved = at(from);
      const without = change({ root }, ["root", ...from], { remove: true });
      return change({ root: without }, ["root", ...path], { insert: moved });
    }
    case "test":
      if (!Bun.deepEquals(at(path), valueOf(operation)))
        return fail(`test of ${quote(toPointer(path))}: got ${quoteValue(at(path))}, want ${quoteValue(valueOf(operation))}`);
      return root;
    default:
      return fail(`op: got ${quoteValue(operation["op"] ?? null)}, want "add", "remove", "replace", "move", "copy" or "test"`);
  }
}

/** @see RFC 6901 */
function parsePointer(text: unknown): readonly string[] | undefined {
  if (typeof text !== "string" || (text !== "" && !text.startsWith("/"))) return undefined;
  return text
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function toPointer(steps: readonly string[]): string {
  return steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function lookUp(root: unknown, steps: readonly string[]): { readonly value: unknown } | undefined {
  let value = root;
  for (const step of steps) {
    if (Array.isArray(value)) {
      const index = toIndex(step, value.length - 1);
      if (index === undefined) return undefined;
      value = value[index];
    } else if (isJsonObject(value) && Object.hasOwn(value, step)) value = value[step];
    else return undefined;
  }
  return { value };
}

type Edit = { readonly insert: unknown } | { readonly replace: unknown } | { readonly remove: true };

/**
 * Edits a document inside a wrapper, under the key `root`: this way all of the document can be replaced as well.
 *
 * @returns the new document; undefined when the place does not exist
 */
function edited(wrapper: unknown, steps: readonly string[], edit: Edit): unknown {
  const parent = lookUp(wrapper, steps.slice(0, -1))?.value;
  const last = steps.at(-1) ?? "";
  if (Array.isArray(parent)) {
    const isInsert = "insert" in edit;
    const index = last === "-" && isInsert ? parent.length : toIndex(last, isInsert ? parent.length : parent.length - 1);
    if (index === undefined) return undefined;
    if (isInsert) parent.splice(index, 0, edit.insert);
    else if ("replace" in edit) parent[index] = edit.replace;
    else parent.splice(index, 1);
  } else if (typeof parent === "object" && parent !== null) {
    const value = "insert" in edit ? { value: edit.insert } : "replace" in edit ? { value: edit.replace } : undefined;
    if (value === undefined) Reflect.deleteProperty(parent, last);
    else Object.defineProperty(parent, last, { ...value, enumerable: true, configurable: true, writable: true });
  } else return undefined;
  return (wrapper as { readonly root?: unknown }).root ?? null;
}

function toIndex(step: string, max: number): number | undefined {
  if (!/^(0|[1-9][0-9]{0,8})$/.test(step)) return undefined;
  const index = Number(step);
  return index <= max ? index : undefined;
}
