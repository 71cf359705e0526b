/** What a call may leave: told from what is different from before the pod came. */

import type { CniReply } from "../../support/programs/cni.ts";
import type { Flow } from "./flows.ts";

const isLeft = (pattern: RegExp) => (change: string) => change.startsWith("left: ") && pattern.test(change.slice(6));
const IN_USE = isLeft(/^etcd: address of .* in use|^host-local: /);
const ON_LINK = isLeft(/^pod: address |^host: route /);
const LINK = isLeft(/^(host|pod): interface /);

/** Addresses that somebody is said to use. */
export function allocatedIn(changes: readonly string[]): number {
  return changes.filter(IN_USE).length;
}

export function hasLink(changes: readonly string[]): boolean {
  return changes.some(LINK);
}

/** What an ADD must have made, and nothing else; one line per thing that is wrong. */
export function findIncompleteness({ plugin }: Flow, reply: CniReply, changes: readonly string[]): readonly string[] {
  const addresses = (reply.json?.ips ?? []).map(({ address }) => address.split("/")[0] ?? "");
  const faults: string[] = addresses.length === 2 ? [] : [`the result has the addresses ${addresses.join(", ")}, want two`];
  const expectCount = (what: string, count: number, wanted: number): void => {
    if (count !== wanted) faults.push(`${count} ${what}, want ${wanted}`);
  };
  expectCount("addresses are allocated", allocatedIn(changes), addresses.length);
  const hasOwnLink = plugin === "netplug";
  expectCount("workload endpoints", changes.filter(isLeft(/workloadendpoints/)).length, hasOwnLink ? 1 : 0);
  expectCount("interfaces on the host", changes.filter(isLeft(/^host: interface npg\w+ of netplug:/)).length, hasOwnLink ? 1 : 0);
  const onPod = changes.filter(isLeft(/^pod: address /));
  // Another main plugin sets its own up, when there is one.
  if (hasOwnLink || onPod.length > 0)
    expectCount("addresses of the result in the pod", count(addresses, onPod, "address"), addresses.length);
  if (hasOwnLink) {
    const routes = changes.filter(isLeft(/^host: route /));
    expectCount("routes of the host to the result's addresses", count(addresses, routes, "route"), addresses.length);
  }
  const lost = changes.filter((change) => change.startsWith("lost: "));
  return [...faults, ...lost].map((fault) => (fault.startsWith("lost") ? fault : `the ADD succeeded, but ${fault}: ${changes.join("; ")}`));
}

/** An address that somebody uses must be allocated, or somebody else gets it. */
export function findUnsafety(changes: readonly string[]): readonly string[] {
  const used = new Set(changes.filter(ON_LINK).map((change) => /(?:address|route) ([0-9a-f.:]+)/.exec(change)?.[1]));
  if (used.size <= allocatedIn(changes)) return [];
  return [`addresses are in use by an interface and free at the same time: ${changes.join("; ")}`];
}

function count(addresses: readonly string[], changes: readonly string[], what: string): number {
  return addresses.filter((address) => changes.some((change) => new RegExp(`${what} ${address}[/ ]`).test(change))).length;
}
