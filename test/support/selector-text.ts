/** For tests: the one canonical text of a selector. */

import type { Selector } from "../../src/policy/selector/selector.ts";

/**
 * The text that equal selectors share: double quotes, sorted sets, every `&&` and `||` in parentheses.
 * Parsing it gives the same selector.
 */
export function toSelectorText(selector: Selector): string {
  switch (selector.type) {
    case "all":
    case "global":
      return `${selector.type}()`;
    case "has":
      return `has(${selector.label})`;
    case "compare":
      return `${selector.label} ${selector.operator} ${quote(selector.value)}`;
    case "member":
      return `${selector.label} ${selector.operator} {${selector.values.map(quote).join(", ")}}`;
    case "not":
      return `!${toSelectorText(selector.operand)}`;
    case "and":
      return `(${selector.operands.map(toSelectorText).join(" && ")})`;
    case "or":
      return `(${selector.operands.map(toSelectorText).join(" || ")})`;
  }
}

/** The language has no escapes, so a parsed value holds at most one kind of quote. */
function quote(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
