/** What a selector is, and its one canonical text. */

/** How a label's value is compared with a text. */
export type TextComparison = "==" | "!=" | "contains" | "starts with" | "ends with";

/** A parsed selector: plain data, safe to keep and to share. */
export type Selector =
  | { readonly type: "all" }
  /** Matches everything; in a rule's namespace selector it stands for what has no namespace. */
  | { readonly type: "global" }
  | { readonly type: "has"; readonly label: string }
  | { readonly type: "compare"; readonly label: string; readonly operator: TextComparison; readonly value: string }
  /** `values` are sorted and distinct. */
  | { readonly type: "member"; readonly label: string; readonly operator: "in" | "not in"; readonly values: readonly string[] }
  | { readonly type: "not"; readonly operand: Selector }
  /** Two operands or more. */
  | { readonly type: "and" | "or"; readonly operands: readonly Selector[] };

/** Selects everything; what an empty text means. */
export const ALL: Selector = { type: "all" };

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

/** Whether `global()` stands anywhere in it: only a rule's namespace selector may say so. */
export function usesGlobal(selector: Selector): boolean {
  if (selector.type === "not") return usesGlobal(selector.operand);
  if (selector.type === "and" || selector.type === "or") return selector.operands.some(usesGlobal);
  return selector.type === "global";
}

/** The language has no escapes, so a parsed value holds at most one kind of quote. */
function quote(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
