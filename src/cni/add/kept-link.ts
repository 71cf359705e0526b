/** A repeated ADD whose interface already exists: what the kernel shows of the interface, and whether it is complete. */

import { keepAddresses, keepInterface } from "../../endpoint/kept-attachment.ts";
import type { AddPlan, AddRequest } from "../../endpoint/plan-add.ts";
import { toOwnMac } from "../../endpoint/plan-attachment.ts";
import { familiesOf, HOST_MAC, NEXT_HOPS, type PodLink } from "../../endpoint/pod-link.ts";
import type { Facts } from "../../ipam/facts.ts";
import { LOOPBACK_IFINDEX } from "../../linux/netlink/constants.ts";
import { type Link, setLinkUp } from "../../linux/netlink/link.ts";
import { setPermanentNeighbour } from "../../linux/netlink/neighbour.ts";
import { execute } from "../../linux/netlink/socket.ts";
import type { Call } from "../call.ts";
import { inspectLink, routesThere } from "../link/inspect.ts";
import { neededSettings } from "../link/needed-settings.ts";
import type { LinkSockets } from "../link/sockets.ts";

/** An interface that exists already, and that an ADD would keep. */
export interface KeptLink {
  /**
   * Plans an ADD with what its interface has.
   *
   * @param planAdd plans one ADD
   * @returns undefined when the interface lacks something: the caller then creates a new one, as this ADD asks
   */
  plan(asked: AddRequest, facts: Facts, planAdd: (request: AddRequest) => AddPlan): AddPlan | undefined;
  /**
   * Makes again what others may have undone beside a complete interface: `lo` up, the host side's settings, and the permanent neighbours,
   * which the kernel drops when somebody changes the MAC.
   *
   * @throws {KernelError}
   */
  restore(link: PodLink): void;
}

/** @param podSide the interface's end in the pod */
export function keptLinkOf({ ledger, datastore }: Call, sockets: LinkSockets, podSide: Link): KeptLink {
  const { mac, mtu } = podSide;
  const planKept: KeptLink["plan"] = (asked, facts, planAdd) => {
    const { attachment, ...addresses } = keepAddresses(asked, facts, datastore.traits);
    const routes = ledger.time("kernel", () => routesThere(sockets.pod, podSide));
    const kept = planAdd({ ...addresses, attachment: keepInterface(attachment, facts, { mac, mtu, routes }) });
    const [outcome] = kept.outcomes;
    if (outcome === undefined || "error" in outcome) return undefined;
    const podMac = attachment.mac ?? toOwnMac(attachment.workload);
    const faults = ledger.time("kernel", () => inspectLink(sockets, { ...outcome.link, podMac }));
    return faults.length === 0 ? kept : undefined;
  };
  return {
    plan: planKept,
    restore(link) {
      const neighbours = familiesOf(link).map((family) => setPermanentNeighbour(podSide.index, NEXT_HOPS[family], HOST_MAC));
      ledger.time("kernel", () => {
        execute(sockets.pod, [setLinkUp(LOOPBACK_IFINDEX, "lo"), ...neighbours]);
        sockets.kernel.writeSysctls(neededSettings(link));
      });
    },
  };
}
