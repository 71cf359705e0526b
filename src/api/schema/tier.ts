/** The schema of tiers, and what the built-in ones keep. */

import * as v from "valibot";
import { BUILT_IN_TIERS, type TierSpec } from "../tier.ts";
import { oneOf } from "./fields.ts";
import type { Problem } from "./problem.ts";

/** `order` may be negative or a fraction, so that a tier fits between any two. */
export const tierSpec = v.object({
  order: v.exactOptional(v.pipe(v.number("want a number"), v.finite("want a number"))),
  defaultAction: v.exactOptional(oneOf("Deny", "Pass")),
});

/** Built-in tiers keep their values. */
export function tierProblems(spec: TierSpec, name: string): readonly Problem[] {
  const builtIn = BUILT_IN_TIERS.find((tier) => tier.name === name)?.spec;
  if (builtIn === undefined) return [];
  const problems: Problem[] = [];
  if (spec.order !== builtIn.order) {
    problems.push({ path: "spec.order", message: `got ${spec.order ?? "nothing"}, want ${builtIn.order}: tier "${name}" is built in` });
  }
  if ((spec.defaultAction ?? "Deny") !== builtIn.defaultAction) {
    problems.push({
      path: "spec.defaultAction",
      message: `got "${spec.defaultAction ?? "Deny"}", want "${builtIn.defaultAction}": tier "${name}" is built in`,
    });
  }
  return problems;
}
