/** Pools, and what ADDs ask of them: so small that they are full often. */

import fc from "fast-check";
import type { AddressDemand, PodAnnotations, PoolSpec } from "./state.ts";

/** Several of one name, or of common addresses, are there one after the other. */
export const POOLS: readonly (readonly [name: string, spec: PoolSpec])[] = [
  ["a4", { cidr: "10.65.0.0/29", blockSize: 31 }],
  ["a6", { cidr: "fd65::/125", blockSize: 127 }],
  ["c4", { cidr: "10.65.2.0/30", blockSize: 30, assignmentMode: "Manual" }],
  ["b4", { cidr: "10.65.1.0/30", blockSize: 32 }],
  ["d4", { cidr: "10.65.3.0/29", blockSize: 29 }],
  ["b6", { cidr: "fd66::/127", blockSize: 128 }],
  ["c6", { cidr: "fd67::/125", blockSize: 126, assignmentMode: "Manual" }],
  ["a4", { cidr: "10.65.0.0/29", blockSize: 30 }],
  ["wide", { cidr: "10.65.0.0/28", blockSize: 30 }],
];

/** How many of them a history begins with. */
export const FIRST_POOLS = 3;

/** For two interfaces at most: more would only be given to each other. */
const V4 = ["10.65.0.0", "10.65.0.3", "10.65.0.6", "10.65.1.1", "10.65.2.0", "10.65.2.2", "10.65.3.7", "10.99.0.1"];
const V6 = ["fd65::1", "fd65::6", "fd66::", "fd67::5", "fd99::1"];
const V4_POOLS = ["a4", "b4", "c4", "d4", "10.65.2.0/30", "a6", "nowhere"];
const V6_POOLS = ["a6", "b6", "c6", "fd67::/125", "a4"];
export const RESERVATIONS: readonly (readonly string[])[] = [
  ["10.65.0.0/31"],
  ["10.65.0.0/30", "fd65::/126"],
  ["10.65.0.5", "10.65.2.1", "fd65::3"],
  ["10.65.0.0/29"],
];

const families = fc.oneof(
  { weight: 5, arbitrary: fc.constant([4] as const) },
  { weight: 3, arbitrary: fc.constant([4, 6] as const) },
  { weight: 1, arbitrary: fc.constant([6] as const) },
);
const some = (names: readonly string[]): fc.Arbitrary<readonly string[]> =>
  fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 });
const pools = fc.record({ ipv4: some(V4_POOLS), ipv6: some(V6_POOLS) }, { requiredKeys: [] });
const ofBoth = fc.oneof(
  fc.constantFrom(...V4).map((address) => [address]),
  fc.constantFrom(...V6).map((address) => [address]),
  fc.tuple(fc.constantFrom(...V4), fc.constantFrom(...V6)),
);
const explicit = fc.oneof(
  fc.constantFrom(...V4, ...V6).map((address) => ({ via: "IP" as const, addresses: [address] })),
  fc.record({ via: fc.constantFrom("args" as const, "runtimeConfig" as const), addresses: ofBoth }),
);

export const demand: fc.Arbitrary<AddressDemand> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ families }) },
  { weight: 3, arbitrary: fc.record({ families, pools }) },
  { weight: 3, arbitrary: fc.record({ families, explicit }) },
);

/** An address that no management knows belongs to one pod alone. */
export const podAnnotations: fc.Arbitrary<PodAnnotations> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.record({ ipv4pools: some(V4_POOLS), ipv6pools: some(V6_POOLS) }, { requiredKeys: [] }) },
  { weight: 2, arbitrary: fc.record({ ipAddrs: ofBoth }) },
  { weight: 1, arbitrary: fc.nat({ max: 200 }).map((n) => ({ ipAddrsNoIpam: [`192.0.2.${n}`, `2001:db8::${n}`] })) },
);
