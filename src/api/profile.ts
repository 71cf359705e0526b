/** Profiles: rules and labels that endpoints share. */

import type { Resource } from "./resource.ts";
import type { Rule } from "./rule.ts";

export interface ProfileSpec {
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  /** Labels that each endpoint of the profile inherits unless it has the key itself. */
  readonly labelsToApply?: Readonly<Record<string, string>>;
}

export type Profile = Resource<"Profile", ProfileSpec>;
