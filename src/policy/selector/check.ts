/** Checks selectors where people write them. */

import { messageOf } from "../../lib/errors.ts";
import { parseSelector } from "./parse.ts";
import { SelectorError } from "./scanner.ts";
import type { Selector } from "./selector.ts";

/**
 * Says what is wrong with a selector in a resource: `global()` is allowed in a rule's namespace selector only, and there alone.
 *
 * @returns undefined when nothing is
 */
export function checkSelector(text: string, place: "plain" | "namespace-of-rule"): string | undefined {
  let selector: Selector;
  try {
    selector = parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) return messageOf(error);
    throw error;
  }
  if (!usesGlobal(selector)) return undefined;
  if (place === "plain") return `got "global()", want it in the namespaceSelector of a rule only`;
  return selector.type === "global" ? undefined : `got "global()" together with other terms, want it alone`;
}

/** Whether `global()` occurs anywhere in it. */
function usesGlobal(selector: Selector): boolean {
  if (selector.type === "not") return usesGlobal(selector.operand);
  if (selector.type === "and" || selector.type === "or") return selector.operands.some(usesGlobal);
  return selector.type === "global";
}
