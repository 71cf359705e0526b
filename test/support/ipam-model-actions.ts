/** For the model of address management: what can happen in a history, and where. */

import fc from "fast-check";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { addressAt, parsePrefix, sizeOf, subnetAt, subnetCount, toPrefixText } from "../../src/lib/ip/prefix.ts";
import type { Fault } from "./faulty-datastore.ts";

/** So small that they are full often. */
export const POOLS = [
  { name: "a", cidr: "10.65.0.0/29", blockSize: 31 },
  { name: "b", cidr: "10.66.0.0/29", blockSize: 30 },
] as const;
const ADDRESSES = POOLS.flatMap(({ cidr }) => addressesOf(cidr));
/** Every place of a block. */
export const PLACES = POOLS.flatMap(({ cidr, blockSize }) => {
  const prefix = parsePrefix(cidr);
  return Array.from({ length: Number(subnetCount(prefix, blockSize)) }, (_, i) => toPrefixText(subnetAt(prefix, blockSize, i)));
});
const NODES = ["n1", "n2", "n3"];
export const CONTAINERS = Array.from({ length: 24 }, (_, i) => `c${i}`);

/** What happens to the cluster, one thing after the other. */
export type Action =
  | { readonly do: "add" | "del"; readonly container: string; readonly node: string; readonly fault: Fault }
  | { readonly do: "add explicit"; readonly container: string; readonly node: string; readonly address: string }
  | { readonly do: "reserve"; readonly cidrs: readonly string[] }
  | { readonly do: "configure"; readonly strictAffinity: boolean; readonly ipCooldownSeconds: number; readonly maxBlocksPerHost: number }
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "collect"; readonly node: string };

const node = fc.constantFrom(...NODES);
const container = fc.constantFrom(...CONTAINERS);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Fault>("none") },
  { weight: 1, arbitrary: fc.constantFrom<Fault>("applied, reply lost", "not applied, reply lost", "caller dies") },
);
export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("add"), container, node, fault }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("del"), container, node, fault }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("add explicit"), container, node, address: fc.constantFrom(...ADDRESSES) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("reserve"), cidrs: fc.subarray(["10.65.0.0/31", "10.65.0.3", "10.66.0.4/30", "10.66.0.1"]) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("configure"),
      strictAffinity: fc.boolean(),
      ipCooldownSeconds: fc.constantFrom(0, 0, 3, 30),
      maxBlocksPerHost: fc.constantFrom(0, 1, 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait"), seconds: fc.constantFrom(1, 20, 400) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("collect"), node }) },
);

/** The addresses of a CIDR, as texts. */
export function addressesOf(text: string): readonly string[] {
  const prefix = parsePrefix(text);
  return Array.from({ length: Number(sizeOf(prefix)) }, (_, i) => toAddressText(addressAt(prefix, i)));
}
