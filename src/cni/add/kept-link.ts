/** A repeated ADD whose interface already exists: what the kernel shows of the interface, and whether it is complete. */

import { keepAddresses, keepInterface } from "../../endpoint/kept-attachment.ts";
import type { AddRequest } from "../../endpoint/plan-add.ts";
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
  /** What the ADD asks for if it takes what its interface has. @throws {FactsWanted} what must be read first */
  toRequest(asked: AddRequest, facts: Facts): AddRequest;
  /**
   * Whether the interface has all that was planned for such a request. If not, the ADD creates a new one, as it was asked.
   *
   * @param planned for {@link toRequest}
   */
  isComplete(asked: AddRequest, planned: PodLink): boolean;
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
  return {
    toRequest(asked, facts) {
      const { attachment, ...addresses } = keepAddresses(asked, facts, datastore.traits);
      const routes = ledger.time("kernel", () => routesThere(sockets.pod, podSide));
      return { ...addresses, attachment: keepInterface(attachment, facts, { mac, mtu, routes }) };
    },
    isComplete({ attachment }, planned) {
      const podMac = attachment.mac ?? toOwnMac(attachment.workload);
      return ledger.time("kernel", () => inspectLink(sockets, { ...planned, podMac })).length === 0;
    },
    restore(link) {
      const neighbours = familiesOf(link).map((family) => setPermanentNeighbour(podSide.index, NEXT_HOPS[family], HOST_MAC));
      ledger.time("kernel", () => {
        execute(sockets.pod, [setLinkUp(LOOPBACK_IFINDEX, "lo"), ...neighbours]);
        sockets.kernel.writeSysctls(neededSettings(link));
      });
    },
  };
}
