/** What a selector is. */

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
