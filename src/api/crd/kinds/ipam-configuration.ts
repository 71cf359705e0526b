/** The CRD of the settings of address management. */

import {
  DEFAULT_MAX_BLOCKS_PER_HOST,
  type IPAMConfigurationSpec,
  MAX_BLOCKS_PER_HOST_LIMIT,
  MAX_IP_COOLDOWN_SECONDS,
} from "../../ipam-configuration.ts";
import { AGE, specColumn } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";
import { onlyNamed } from "../name-rules.ts";

/** Its rules are that of `ipamConfigurationProblems`, and that there is only `default`. */
export const IPAM_CONFIGURATION_DEFINITION: KindDefinition<IPAMConfigurationSpec> = {
  text: "The cluster's settings of address management: one object, named default. Without it all defaults apply.",
  specText: "The settings.",
  fields: {
    strictAffinity: "Whether a node never takes addresses from another node's block.",
    autoAllocateBlocks: "Whether a node that needs space claims blocks by itself.",
    maxBlocksPerHost: `How many blocks a node may claim, 0..${MAX_BLOCKS_PER_HOST_LIMIT}; 0 means ${DEFAULT_MAX_BLOCKS_PER_HOST}.`,
    ipCooldownSeconds: `Seconds that a released address cools down before it is given again, 0..${MAX_IP_COOLDOWN_SECONDS}.`,
  },
  samples: [{}],
  rules: {
    "": [onlyNamed("IPAMConfiguration")],
    spec: [
      {
        rule: "self.strictAffinity || self.autoAllocateBlocks",
        message: "without strictAffinity nobody owns a block that nobody may claim: want one of strictAffinity and autoAllocateBlocks true",
        fieldPath: ".autoAllocateBlocks",
      },
    ],
  },
  columns: [
    specColumn("Strict affinity", "strictAffinity", "boolean", "Whether nodes never borrow addresses."),
    specColumn("Auto allocate", "autoAllocateBlocks", "boolean", "Whether nodes claim blocks by themselves."),
    specColumn("Max blocks", "maxBlocksPerHost", "integer", `How many blocks a node may claim; 0 means ${DEFAULT_MAX_BLOCKS_PER_HOST}.`),
    specColumn("Cooldown", "ipCooldownSeconds", "integer", "Seconds that a released address cools down."),
    AGE,
  ],
};
