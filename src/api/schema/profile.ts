/** The schema of profiles, and the rules between their fields. */

import * as v from "valibot";
import type { ProfileSpec } from "../profile.ts";
import { atMost, labels, listOfAtMost } from "./fields.ts";
import type { Problem } from "./problem.ts";
import { MAX_RULES, ruleSchema, rulesProblems } from "./rule.ts";

/** An API server checks every label, and refuses what could take too long. */
const MAX_LABELS = 1_000;

/** Each field by itself; the limits of its lists keep the CRD's rules within an API server's cost budget. */
export const profileSpec = v.object({
  ingress: v.exactOptional(listOfAtMost(MAX_RULES, ruleSchema)),
  egress: v.exactOptional(listOfAtMost(MAX_RULES, ruleSchema)),
  labelsToApply: v.exactOptional(atMost(MAX_LABELS, labels)),
});

/** What the fields of its rules say against each other. */
export function profileProblems(spec: ProfileSpec): readonly Problem[] {
  return [...rulesProblems(spec.ingress ?? [], "ingress"), ...rulesProblems(spec.egress ?? [], "egress")];
}
