/** The wires of a cluster: a network namespace with a bridge for its nodes and its control plane, and a link from there to the test. */

import { NetworkPlace, nodePlace } from "../support/node/netns.ts";
import { NETNS_PREFIX } from "../support/run-mark.ts";
import type { Cleaner } from "./cleaner.ts";

/** In the cluster's namespace, where no other cluster can be in the way. */
export const CONTROL_PLANE_ADDRESS = "172.30.0.1";
const CONTROL_PLANE_ADDRESS_6 = "fd30::1";
/** Addresses that are for tests of networks, so that no machine has them: each cluster takes four. */
const LINKS = { first: (198 << 24) | (18 << 16), count: 1 << 15 };

let made = 0;

/** One node's wire. */
export interface NodeWire {
  readonly netns: string;
  /** `172.30.0.11`, `fd30::11` */
  readonly addresses: readonly [string, string];
  /** Makes the namespace anew, with nothing in it but its interface, as a reboot does. Nothing may run in it. */
  renew(): void;
}

/** A cluster's namespace, with its bridge up. */
export class Underlay {
  /** Begins with what the suite looks for. */
  readonly netns: string;
  /** What the test reaches the control plane by. */
  readonly host: string;
  readonly place: NetworkPlace;
  readonly #cleaner: Cleaner;

  private constructor(netns: string, host: string, cleaner: Cleaner) {
    this.netns = netns;
    this.host = host;
    this.place = new NetworkPlace(netns);
    this.#cleaner = cleaner;
  }

  static async make(cleaner: Cleaner): Promise<Underlay> {
    const number = made++;
    const netns = `${NETNS_PREFIX}cluster${number}`;
    await makeNetns(netns, cleaner);
    const host = await linkToTest(netns, `npgk${process.pid.toString(36)}${number.toString(36)}`, cleaner);
    const underlay = new Underlay(netns, host, cleaner);
    underlay.#ip("link", "add", "nodes", "type", "bridge");
    underlay.#ip("address", "add", `${CONTROL_PLANE_ADDRESS}/24`, "dev", "nodes");
    underlay.#ip("address", "add", `${CONTROL_PLANE_ADDRESS_6}/64`, "dev", "nodes", "nodad");
    underlay.#ip("link", "set", "nodes", "up");
    forward(underlay.place);
    return underlay;
  }

  /** What starts a program in it. */
  get enter(): readonly string[] {
    return ["nsenter", `--net=/run/netns/${this.netns}`];
  }

  /** Adds the namespace of node `index`, its interface `eth0` in the bridge. */
  async addNode(index: number): Promise<NodeWire> {
    const netns = `${this.netns}-node${index}`;
    const addresses = [`172.30.0.${11 + index}`, `fd30::${11 + index}`] as const;
    await makeNetns(netns, this.#cleaner);
    const connect = (): void => this.#connect(`node${index}`, netns, addresses);
    connect();
    const renew = (): void => {
      // first, or the kernel does it some time after the namespace is gone
      this.#ip("link", "del", `node${index}`);
      nodePlace.must(["ip", "netns", "del", netns]);
      addNetns(netns);
      connect();
    };
    return { netns, addresses, renew };
  }

  /** An interface `eth0` in the bridge, and the ways out by it. */
  #connect(ifname: string, netns: string, [ipv4, ipv6]: NodeWire["addresses"]): void {
    this.#ip("link", "add", ifname, "type", "veth", "peer", "name", "eth0", "netns", netns);
    this.#ip("link", "set", ifname, "master", "nodes", "up");
    const node = new NetworkPlace(netns);
    node.must(["ip", "address", "add", `${ipv4}/24`, "dev", "eth0"]);
    node.must(["ip", "address", "add", `${ipv6}/64`, "dev", "eth0", "nodad"]);
    node.must(["ip", "link", "set", "eth0", "up"]);
    node.must(["ip", "route", "add", "default", "via", CONTROL_PLANE_ADDRESS]);
    node.must(["ip", "route", "add", "default", "via", CONTROL_PLANE_ADDRESS_6]);
    forward(node);
  }

  /** Sends what goes to `cidr` to a node, from the control plane and from every other node given. */
  route(cidr: string, to: NodeWire, others: readonly NodeWire[]): void {
    const via = cidr.includes(":") ? to.addresses[1] : to.addresses[0];
    for (const place of [this.place, ...others.map(({ netns }) => new NetworkPlace(netns))])
      place.must(["ip", "route", "replace", cidr, "via", via]);
  }

  #ip(...args: readonly string[]): void {
    this.place.must(["ip", ...args]);
  }
}

async function makeNetns(netns: string, cleaner: Cleaner): Promise<void> {
  await cleaner.add({ run: ["ip", "netns", "del", netns] });
  addNetns(netns);
}

function addNetns(netns: string): void {
  nodePlace.must(["ip", "netns", "add", netns]);
  new NetworkPlace(netns).must(["ip", "link", "set", "lo", "up"]);
}

/** @returns the address of the namespace's end */
async function linkToTest(netns: string, ifname: string, cleaner: Cleaner): Promise<string> {
  await cleaner.add({ run: ["ip", "link", "del", ifname] });
  nodePlace.must(["ip", "link", "add", ifname, "type", "veth", "peer", "name", "test", "netns", netns]);
  const taken = nodePlace.must(["ip", "-4", "-o", "address", "show"]);
  let net = LINKS.first + 4 * (process.pid % LINKS.count);
  while (taken.includes(` ${dotted(net + 1)}/`)) net = LINKS.first + ((net + 4 - LINKS.first) % (4 * LINKS.count));
  nodePlace.must(["ip", "address", "add", `${dotted(net + 1)}/30`, "dev", ifname]);
  nodePlace.must(["ip", "link", "set", ifname, "up"]);
  const place = new NetworkPlace(netns);
  place.must(["ip", "address", "add", `${dotted(net + 2)}/30`, "dev", "test"]);
  place.must(["ip", "link", "set", "test", "up"]);
  return dotted(net + 2);
}

function forward(place: NetworkPlace): void {
  place.must(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]);
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}
