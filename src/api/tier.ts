/** Tiers: the order in which groups of policies are asked. */

/** Where the tier stands, and how it ends; policies name the tier that they belong to. */
export interface TierSpec {
  /** Smaller is asked first; absent: after all that have one. */
  readonly order?: number;
  /** What happens to an endpoint's traffic that a policy of the tier selects and no rule decides. @default "Deny" */
  readonly defaultAction?: "Deny" | "Pass";
}

/** Tiers that `initialise()` makes in every datastore; they cannot be deleted or changed. Administrators add others. */
export const BUILT_IN_TIERS = [
  { name: "kube-admin", spec: { order: 1_000, defaultAction: "Pass" } },
  { name: "default", spec: { order: 1_000_000, defaultAction: "Deny" } },
  { name: "kube-baseline", spec: { order: 10_000_000, defaultAction: "Pass" } },
] as const satisfies readonly { readonly name: string; readonly spec: Required<TierSpec> }[];

/** Applies the default when a tier is read. */
export function withTierDefaults(spec: TierSpec): TierSpec & Required<Pick<TierSpec, "defaultAction">> {
  return { ...spec, defaultAction: spec.defaultAction ?? "Deny" };
}
