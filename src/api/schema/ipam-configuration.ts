/** The schema of the settings of address management, and the rule between them. */

import * as v from "valibot";
import type { IPAMConfigurationSpec } from "../ipam-configuration.ts";
import { MAX_BLOCKS_PER_HOST_LIMIT, MAX_IP_COOLDOWN_SECONDS, withIPAMConfigurationDefaults } from "../ipam-configuration.ts";
import { boolean, wholeNumber } from "./fields.ts";
import type { Problem } from "./problem.ts";

/** Each field by itself; {@link ipamConfigurationProblems} is about two of them together. */
export const ipamConfigurationSpec = v.object({
  strictAffinity: v.exactOptional(boolean),
  autoAllocateBlocks: v.exactOptional(boolean),
  maxBlocksPerHost: v.exactOptional(wholeNumber(0, MAX_BLOCKS_PER_HOST_LIMIT)),
  ipCooldownSeconds: v.exactOptional(wholeNumber(0, MAX_IP_COOLDOWN_SECONDS)),
});

/** Without strict affinity nobody owns a block that nobody may claim. */
export function ipamConfigurationProblems(spec: IPAMConfigurationSpec): readonly Problem[] {
  const { strictAffinity, autoAllocateBlocks } = withIPAMConfigurationDefaults(spec);
  if (strictAffinity || autoAllocateBlocks) return [];
  return [{ path: "spec.autoAllocateBlocks", message: "got false together with strictAffinity false, want one of them true" }];
}
