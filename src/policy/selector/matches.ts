/** Evaluates selectors on labels. */

import type { Selector } from "./selector.ts";

/** Of an object that a selector is held against. */
export type Labels = Readonly<Record<string, string>>;

/**
 * Whether labels fit a selector. An absent label fits `!=`, `not in` and `!has`, and nothing else. Values are compared as they
 * are, in case and in full.
 *
 * ```ts
 * matches(parseSelector('zone in {"a", "b"} && !has(drained)'), node.metadata.labels ?? {});
 * ```
 */
export function matches(selector: Selector, labels: Labels): boolean {
  switch (selector.type) {
    case "all":
    case "global":
      return true;
    case "has":
      return Object.hasOwn(labels, selector.label);
    case "compare":
      return isComparisonTrue(selector, valueOf(labels, selector.label));
    case "member": {
      const value = valueOf(labels, selector.label);
      return (value !== undefined && selector.values.includes(value)) === (selector.operator === "in");
    }
    case "not":
      return !matches(selector.operand, labels);
    case "and":
      return selector.operands.every((operand) => matches(operand, labels));
    case "or":
      return selector.operands.some((operand) => matches(operand, labels));
  }
}

function isComparisonTrue(selector: Selector & { type: "compare" }, value: string | undefined): boolean {
  if (value === undefined) return selector.operator === "!=";
  switch (selector.operator) {
    case "==":
      return value === selector.value;
    case "!=":
      return value !== selector.value;
    case "contains":
      return value.includes(selector.value);
    case "starts with":
      return value.startsWith(selector.value);
    case "ends with":
      return value.endsWith(selector.value);
  }
}

/** A key such as `constructor` must not find what every object inherits. */
function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
