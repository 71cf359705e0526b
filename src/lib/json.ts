/** Reading JSON that somebody else wrote. */

import { describeJsonFault } from "./json-fault.ts";

/** Text that is not JSON, or exceeds the limits. The message never shows the text: it may hold a secret. */
export class JsonError extends SyntaxError {
  override readonly name = "JsonError";
}

/** What is too large to be read. */
export interface JsonLimits {
  /** Characters. @default 1 MiB */
  readonly maxLength?: number;
  /** Objects and lists inside each other. @default 64 */
  readonly maxDepth?: number;
}

const MAX_LENGTH = 1024 * 1024;
const MAX_DEPTH = 64;

/**
 * Parses JSON within limits, so that hostile input gets a clear error instead of taking memory or stack.
 *
 * @throws {JsonError}
 */
export function parseJson(text: string, { maxLength = MAX_LENGTH, maxDepth = MAX_DEPTH }: JsonLimits = {}): unknown {
  if (text.length > maxLength) throw new JsonError(`got ${text.length} characters, want at most ${maxLength}`);
  // Before the parser sees it, so that its own stack is never at stake; text with few brackets cannot be deep.
  if (countOpenings(text, maxDepth) > maxDepth && isDeeperThan(text, maxDepth))
    throw new JsonError(`got more than ${maxDepth} levels of nesting`);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new JsonError(describeJsonFault(text));
  }
}

/** The value in a text, undefined for none. Without limits: for text that we wrote ourselves, or got from a server that is trusted. */
export function tryParseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** As {@link parseJson}, for callers to which text that it refuses says nothing. */
export function tryParseForeignJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** An object of JSON; nothing is known of its values. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object: neither list nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a parsed JSON value is a text. */
export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** How many objects and lists begin, at least when it is no more than `enough`. */
function countOpenings(text: string, enough: number): number {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0 && count <= enough; at = text.indexOf(bracket, at + 1)) count++;
  }
  return count;
}

function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (isInString) {
      if (char === "\\") i++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === "{" || char === "[") {
      if (++depth > maxDepth) return true;
    } else if (char === "}" || char === "]") depth--;
  }
  return false;
}
