/** The CRD of address blocks. */

import type { IPAMBlockSpec } from "../../ipam-block-object.ts";
import { AGE, specColumn } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";

/** No samples, because a block has no defaults: whoever writes one says every field. */
export const IPAM_BLOCK_DEFINITION: KindDefinition<IPAMBlockSpec> = {
  text: "A block of addresses that a node claimed, and who has which of them. Only netplug writes it; netplugctl shows it.",
  specText: "The block.",
  fields: {
    cidr: "The addresses. The object's name is a function of it, so that a block can be claimed once only.",
    node: "The node that owns the block.",
    allocations: "Every address with its owner, and the order in which free ones are given: one value that changes as a whole.",
  },
  samples: [],
  rules: { "spec.cidr": [{ rule: "self == oldSelf", message: "cidr cannot be changed: the name follows from it" }] },
  columns: [
    specColumn("CIDR", "cidr", "string", "The addresses."),
    specColumn("Node", "node", "string", "The node that owns the block."),
    AGE,
  ],
};
