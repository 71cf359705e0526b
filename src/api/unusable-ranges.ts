/** Ranges that no pool may overlap: a pod cannot have their addresses, or nobody can reach it by them. */

/** By what they are for. Loopback's of IPv6 holds the unspecified address, too. */
export const UNUSABLE_RANGES = {
  unspecified: ["0.0.0.0/8"],
  loopback: ["127.0.0.0/8", "::/127"],
  "link-local": ["169.254.0.0/16", "fe80::/10"],
  multicast: ["224.0.0.0/4", "ff00::/8"],
} as const;
