/** The CRD of profiles. */

import type { ProfileSpec } from "../../profile.ts";
import { AGE } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";
import { RULE_TEXTS, policyRuleChecks } from "../policy-rules.ts";

/** Its rules are those of `profileProblems`, for both directions from `policy-rules.ts`. */
export const PROFILE_DEFINITION: KindDefinition<ProfileSpec> = {
  text: "Rules and labels that endpoints share. Profiles are evaluated after all tiers.",
  specText: "The rules and labels.",
  fields: {
    ingress: ["Rules for traffic to the endpoint; the first that matches decides.", RULE_TEXTS],
    egress: ["Rules for traffic from the endpoint; the first that matches decides.", RULE_TEXTS],
    labelsToApply: "Labels that each endpoint of the profile inherits unless it has the key itself.",
  },
  samples: [{}],
  rules: { ...policyRuleChecks("ingress"), ...policyRuleChecks("egress") },
  columns: [AGE],
};
