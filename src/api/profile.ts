/** Profiles: rules and labels that endpoints share. */

import type { Resource } from "./resource.ts";
import type { Rule } from "./rule.ts";

/** Rules of a direction are asked in their order, the first that matches decides; they come after all tiers. */
export interface ProfileSpec {
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  /** Labels that each endpoint of the profile inherits unless it has the key itself. */
  readonly labelsToApply?: Readonly<Record<string, string>>;
}

/** An ADD on etcd makes the one of its network, `toNetworkProfile()`, unless the workload's profiles come from Kubernetes. */
export type Profile = Resource<"Profile", ProfileSpec>;
