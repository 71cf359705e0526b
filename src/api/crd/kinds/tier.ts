/** The CRD of tiers. */

import { BUILT_IN_TIERS, type TierSpec } from "../../tier.ts";
import { AGE, specColumn } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";

/** Its rules are those of `tierProblems`, and that a name has no dot. */
export const TIER_DEFINITION: KindDefinition<TierSpec> = {
  text: `A group of policies, evaluated at its place in the order of tiers. Built in are ${BUILT_IN_TIERS.map(({ name }) => name).join(", ")}.`,
  specText: "Where the tier stands and how it ends.",
  fields: {
    order: "Tiers with a smaller number are evaluated first, those without a number last.",
    defaultAction: "What happens to an endpoint's traffic that a policy of the tier selects and no rule decides.",
  },
  samples: [{}],
  rules: {
    "": [
      {
        rule: "size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",
        message: "want a DNS label as the name of a Tier: at most 63 lower-case letters, digits and -",
      },
      ...BUILT_IN_TIERS.map(({ name, spec }) => ({
        rule: `self.metadata.name != '${name}' || (has(self.spec.order) && self.spec.order == ${spec.order.toFixed(1)} && self.spec.defaultAction == '${spec.defaultAction}')`,
        message: `tier ${name} is built in: want order ${spec.order} and defaultAction ${spec.defaultAction}`,
        fieldPath: ".spec",
      })),
    ],
  },
  columns: [
    specColumn("Order", "order", "number", "Tiers with a smaller number are evaluated first."),
    specColumn("Default action", "defaultAction", "string", "What happens to traffic that no rule decides."),
    AGE,
  ],
};
