/** The wires of a cluster: a network namespace with a bridge for its nodes and its control plane, and a link from there to the test. */

import { NetworkPlace, nodePlace } from "../../support/node/netns.ts";
import { NETNS_PREFIX } from "../../support/run-mark.ts";
import type { Cleaner } from "../../support/daemons/cleaner.ts";

/** In the cluster's namespace, where no other cluster can be in the way. */
const CONTROL_PLANE_ADDRESSES = { 4: "172.30.0.1", 6: "fd30::1" } as const;
const LENGTHS = { 4: 24, 6: 64 } as const;
/** Addresses that are for tests of networks, so that no machine has them: each cluster takes four. */
const LINKS = { first: (198 << 24) | (18 << 16), count: 1 << 15 };

let made = 0;

/** One node's wire. */
export interface NodeWire {
  readonly netns: string;
  /** `172.30.0.11`, `fd30::11`, as far as the cluster has these families. */
  readonly addresses: readonly string[];
  /** Makes the namespace anew, with nothing in it but its interface, as a reboot does. Nothing may run in it. */
  renew(): void;
}

/** A cluster's namespace, with its bridge up. */
export class Underlay {
  /** Begins with what the suite looks for. */
  readonly netns: string;
  /** What the test reaches the control plane by. */
  readonly host: string;
  /** What nodes and pods reach the control plane by. */
  readonly controlPlane: string;
  readonly place: NetworkPlace;
  readonly #families: readonly (4 | 6)[];
  readonly #cleaner: Cleaner;

  private constructor(netns: string, host: string, families: readonly (4 | 6)[], cleaner: Cleaner) {
    this.netns = netns;
    this.host = host;
    this.controlPlane = CONTROL_PLANE_ADDRESSES[families[0] ?? 4];
    this.place = new NetworkPlace(netns);
    this.#families = families;
    this.#cleaner = cleaner;
  }

  /** @param isIPv6Only whether only the link to the test has IPv4 addresses, which it has in any case: the test's machine may have no others */
  static async make(cleaner: Cleaner, isIPv6Only: boolean): Promise<Underlay> {
    const number = made++;
    const netns = `${NETNS_PREFIX}cluster${number}`;
    await makeNetns(netns, cleaner);
    const host = await linkToTest(netns, `npgk${process.pid.toString(36)}${number.toString(36)}`, cleaner);
    const underlay = new Underlay(netns, host, isIPv6Only ? [6] : [4, 6], cleaner);
    underlay.#ip("link", "add", "nodes", "type", "bridge");
    for (const family of underlay.#families) addAddress(underlay.place, CONTROL_PLANE_ADDRESSES[family], "nodes");
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
    const addresses = this.#families.map((family) => (family === 4 ? `172.30.0.${11 + index}` : `fd30::${11 + index}`));
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
  #connect(ifname: string, netns: string, addresses: NodeWire["addresses"]): void {
    this.#ip("link", "add", ifname, "type", "veth", "peer", "name", "eth0", "netns", netns);
    this.#ip("link", "set", ifname, "master", "nodes", "up");
    const node = new NetworkPlace(netns);
    for (const address of addresses) addAddress(node, address, "eth0");
    node.must(["ip", "link", "set", "eth0", "up"]);
    for (const family of this.#families) node.must(["ip", "route", "add", "default", "via", CONTROL_PLANE_ADDRESSES[family]]);
    forward(node);
  }

  /** Sends what goes to `cidr` to a node, from the control plane and from every other node given. */
  route(cidr: string, to: NodeWire, others: readonly NodeWire[]): void {
    const via = to.addresses.find((address) => familyOf(address) === familyOf(cidr));
    if (via === undefined) throw new Error(`route ${cidr} to ${to.netns}: it has only ${to.addresses.join(", ")}`);
    for (const place of [this.place, ...others.map(({ netns }) => new NetworkPlace(netns))])
      place.must(["ip", "route", "replace", cidr, "via", via]);
  }

  #ip(...args: readonly string[]): void {
    this.place.must(["ip", ...args]);
  }
}

/** Usable at once. */
function addAddress(place: NetworkPlace, address: string, dev: string): void {
  const family = familyOf(address);
  place.must(["ip", "address", "add", `${address}/${LENGTHS[family]}`, "dev", dev, ...(family === 6 ? ["nodad"] : [])]);
}

function familyOf(addressOrCidr: string): 4 | 6 {
  return addressOrCidr.includes(":") ? 6 : 4;
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
