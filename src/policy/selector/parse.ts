/** Parses selectors. */

import { Scanner, SelectorError } from "./scanner.ts";
import type { Selector, TextComparison } from "./selector.ts";

/** Longest selector text. */
export const MAX_SELECTOR_LENGTH = 1_024;

/** What an empty text means. */
const ALL: Selector = { type: "all" };

/** How deep parentheses may nest. */
export const MAX_SELECTOR_DEPTH = 64;

/**
 * Parses a selector. `!` binds tighter than `&&`, and `&&` tighter than `||`.
 *
 * ```
 * selector := [or]                                   nothing selects everything
 * or       := and ("||" and)*
 * and      := unary ("&&" unary)*
 * unary    := "!"* primary
 * primary  := "(" or ")" | "all()" | "global()" | "has(" label ")"
 *           | label ("==" | "!=" | "contains" | "starts with" | "ends with") string
 *           | label ("in" | "not in") "{" [string ("," string)* [","]] "}"
 * string   := '"' [^"]* '"' | "'" [^']* "'"
 * label    := [A-Za-z0-9_./-]{1,512}
 * ```
 *
 * @throws {SelectorError} saying where, what was found and what was wanted
 */
export function parseSelector(text: string): Selector {
  if (text.length > MAX_SELECTOR_LENGTH) {
    throw new SelectorError(text, MAX_SELECTOR_LENGTH, `${text.length} characters`, `at most ${MAX_SELECTOR_LENGTH}`);
  }
  const scanner = new Scanner(text);
  if (scanner.isAtEnd()) return ALL;
  const selector = parseOr(scanner, 0);
  if (!scanner.isAtEnd()) throw scanner.unexpected('"&&", "||" or the end');
  return selector;
}

/** As {@link parseSelector}, but gives what is wrong with text that is no selector. */
export function tryParseSelector(text: string): Selector | SelectorError {
  try {
    return parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) return error;
    throw error;
  }
}

function parseOr(scanner: Scanner, depth: number): Selector {
  const operands = [parseAnd(scanner, depth)];
  while (scanner.take("||")) operands.push(parseAnd(scanner, depth));
  return join("or", operands);
}

function parseAnd(scanner: Scanner, depth: number): Selector {
  const operands = [parseUnary(scanner, depth)];
  while (scanner.take("&&")) operands.push(parseUnary(scanner, depth));
  return join("and", operands);
}

function join(type: "and" | "or", operands: readonly Selector[]): Selector {
  const [first = ALL, ...rest] = operands;
  return rest.length === 0 ? first : { type, operands };
}

/** Two `!` cancel each other. */
function parseUnary(scanner: Scanner, depth: number): Selector {
  let negated = false;
  while (scanner.take("!")) negated = !negated;
  const operand = parsePrimary(scanner, depth);
  if (!negated) return operand;
  return operand.type === "not" ? operand.operand : { type: "not", operand };
}

function parsePrimary(scanner: Scanner, depth: number): Selector {
  if (scanner.take("(")) {
    if (depth === MAX_SELECTOR_DEPTH) throw scanner.unexpected(`at most ${MAX_SELECTOR_DEPTH} nested parentheses`);
    const inner = parseOr(scanner, depth + 1);
    if (!scanner.take(")")) throw scanner.unexpected('"&&", "||" or ")"');
    return inner;
  }
  if (scanner.take("all(")) return closed(scanner, { type: "all" });
  if (scanner.take("global(")) return closed(scanner, { type: "global" });
  if (scanner.take("has(")) {
    const label = scanner.takeLabel();
    if (label === undefined) throw scanner.unexpected("a label");
    return closed(scanner, { type: "has", label });
  }
  const label = scanner.takeLabel();
  if (label === undefined) throw scanner.unexpected('a label, "has(", "all()", "!" or "("');
  return parseComparison(scanner, label);
}

function parseComparison(scanner: Scanner, label: string): Selector {
  const operator = takeTextComparison(scanner);
  if (operator !== undefined) {
    const value = scanner.takeString();
    if (value === undefined) throw scanner.unexpected("a string in quotes");
    return { type: "compare", label, operator, value };
  }
  if (scanner.takeWords("in")) return { type: "member", label, operator: "in", values: parseSet(scanner) };
  if (scanner.takeWords("not", "in")) return { type: "member", label, operator: "not in", values: parseSet(scanner) };
  throw scanner.unexpected('"==", "!=", "in", "not in", "contains", "starts with" or "ends with"');
}

function takeTextComparison(scanner: Scanner): TextComparison | undefined {
  if (scanner.take("==")) return "==";
  if (scanner.take("!=")) return "!=";
  if (scanner.takeWords("contains")) return "contains";
  if (scanner.takeWords("starts", "with")) return "starts with";
  if (scanner.takeWords("ends", "with")) return "ends with";
  return undefined;
}

/** A comma after the last value is allowed. */
function parseSet(scanner: Scanner): readonly string[] {
  if (!scanner.take("{")) throw scanner.unexpected('"{"');
  const values = new Set<string>();
  for (;;) {
    const value = scanner.takeString();
    if (value === undefined) {
      if (scanner.take("}")) return [...values].sort();
      throw scanner.unexpected('a string in quotes or "}"');
    }
    values.add(value);
    if (scanner.take(",")) continue;
    if (scanner.take("}")) return [...values].sort();
    throw scanner.unexpected('"," or "}"');
  }
}

function closed(scanner: Scanner, selector: Selector): Selector {
  if (!scanner.take(")")) throw scanner.unexpected('")"');
  return selector;
}
