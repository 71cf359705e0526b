/** For the model of address management: what can happen in a history, and where. */

import fc from "fast-check";
import { type Family, toAddressText } from "../../../src/lib/ip/address.ts";
import { addressAt, parsePrefix, type Prefix, sizeOf, subnetAt, subnetCount } from "../../../src/lib/ip/prefix.ts";
import type { Fault } from "./faulty-datastore.ts";

/** So small that they are full often. */
export const POOLS = [
  { name: "a", cidr: "10.65.0.0/29", blockSize: 31 },
  { name: "b", cidr: "10.66.0.0/29", blockSize: 30 },
  { name: "c", cidr: "fd65::/125", blockSize: 127 },
] as const;
const ADDRESSES = POOLS.flatMap(({ cidr }) => addressesOf(cidr));
export type PoolName = (typeof POOLS)[number]["name"];
const NODES = ["n1", "n2", "n3"];
export const CONTAINERS = Array.from({ length: 24 }, (_, i) => `c${i}`);

/** What happens to the cluster, one thing after the other. */
export type Action =
  | { readonly do: "add"; readonly container: string; readonly node: string; readonly families: readonly Family[]; readonly fault: Fault }
  | { readonly do: "del"; readonly container: string; readonly node: string; readonly fault: Fault }
  | { readonly do: "add explicit"; readonly container: string; readonly node: string; readonly address: string }
  | { readonly do: "reserve"; readonly cidrs: readonly string[] }
  | {
      readonly do: "configure";
      readonly strictAffinity: boolean;
      readonly ipCooldownSeconds: number;
      readonly maxBlocksPerHost: number;
      readonly autoAllocateBlocks: boolean;
    }
  | { readonly do: "change pool"; readonly pool: PoolName; readonly hostBits: number; readonly disabled: boolean }
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "collect"; readonly node: string };

const node = fc.constantFrom(...NODES);
const container = fc.constantFrom(...CONTAINERS);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Fault>("none") },
  { weight: 1, arbitrary: fc.constantFrom<Fault>("applied, reply lost", "not applied, reply lost", "caller dies") },
);
const families = fc.constantFrom<readonly Family[]>([4], [4], [6], [4, 6], [6, 4]);
export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("add"), container, node, families, fault }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("del"), container, node, fault }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("add explicit"), container, node, address: fc.constantFrom(...ADDRESSES) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("reserve"),
      cidrs: fc.subarray(["10.65.0.0/31", "10.65.0.3", "10.66.0.4/30", "10.66.0.1", "fd65::4/126"]),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("configure"),
      strictAffinity: fc.boolean(),
      ipCooldownSeconds: fc.constantFrom(0, 0, 3, 30),
      maxBlocksPerHost: fc.constantFrom(0, 1, 3),
      autoAllocateBlocks: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("change pool"),
      pool: fc.constantFrom(...POOLS.map(({ name }) => name)),
      hostBits: fc.nat(3),
      disabled: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait"), seconds: fc.constantFrom(1, 20, 400) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("collect"), node }) },
);

/** The slots for blocks in a pool. */
export function slotsOf(cidr: string, blockSize: number): readonly Prefix[] {
  const prefix = parsePrefix(cidr);
  return Array.from({ length: Number(subnetCount(prefix, blockSize)) }, (_, i) => subnetAt(prefix, blockSize, i));
}

/** The addresses of a CIDR, as texts. */
export function addressesOf(text: string): readonly string[] {
  const prefix = parsePrefix(text);
  return Array.from({ length: Number(sizeOf(prefix)) }, (_, i) => toAddressText(addressAt(prefix, i)));
}
