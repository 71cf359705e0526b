import { afterAll, expect, test } from "bun:test";
import type { PodLink } from "../../src/endpoint/pod-link.ts";
import { Fd } from "../../src/linux/fd.ts";
import { addLink, inspect } from "./support/add.ts";
import { type Place, NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

const LINK = podLink("ctr", { addresses: ["10.65.0.7", "fd00:65::7"] });
const HOST = `interface "${LINK.hostName}" on the host: `;
const POD = 'interface "eth0" in the pod: ';

type Damage = (node: NamespacedNode, pod: Place) => void;

test.each<[string, Damage, (string | RegExp)[]]>([
  [
    "the only IPv4 address that was removed, with which the kernel drops routes and neighbours,",
    (node, pod) => node.ip(pod, "addr del 10.65.0.7/32 dev eth0"),
    [`${POD}address "10.65.0.7" is missing`, `${POD}route "0.0.0.0/0" is missing`, `${POD}permanent neighbour "169.254.1.1" is missing`],
  ],
  [
    "one of several addresses that was removed",
    (node, pod) => (node.ip(pod, "addr add 10.65.9.9/32 dev eth0"), node.ip(pod, "addr del 10.65.0.7/32 dev eth0")),
    [`${POD}address "10.65.0.7" is missing`],
  ],
  [
    "an IPv6 address that was removed",
    (node, pod) => node.ip(pod, "addr del fd00:65::7/128 dev eth0"),
    [`${POD}address "fd00:65::7" is missing`],
  ],
  ["a route that was removed", (node, pod) => node.ip(pod, "route del default"), [`${POD}route "0.0.0.0/0" is missing`]],
  ["an IPv6 route that was removed", (node, pod) => node.ip(pod, "-6 route del default"), [`${POD}route "::/0" is missing`]],
  [
    "a neighbour that was removed",
    (node, pod) => node.ip(pod, "neigh del 169.254.1.1 dev eth0"),
    [`${POD}permanent neighbour "169.254.1.1" is missing`],
  ],
  [
    "a neighbour that may be forgotten",
    (node, pod) => node.ip(pod, "neigh replace 169.254.1.1 lladdr ee:ee:ee:ee:ee:ee nud reachable dev eth0"),
    [`${POD}permanent neighbour "169.254.1.1" is missing`],
  ],
  [
    "a neighbour with another MAC",
    (node, pod) => node.ip(pod, "neigh replace 169.254.1.1 lladdr 02:00:00:00:00:09 nud permanent dev eth0"),
    [`${POD}permanent neighbour "169.254.1.1" is missing`],
  ],
  ["a route of the host that was removed", (node) => node.ip(node.host, "route del 10.65.0.7"), [`${HOST}route "10.65.0.7" is missing`]],
  [
    "an IPv6 route of the host that was removed",
    (node) => node.ip(node.host, "-6 route del fd00:65::7"),
    [`${HOST}route "fd00:65::7" is missing`],
  ],
  [
    "a route of the host that leads elsewhere",
    (node) => {
      node.ip(node.host, "link add name thief type bridge");
      node.ip(node.host, "link set thief up");
      node.ip(node.host, "route replace 10.65.0.7/32 dev thief");
    },
    [`${HOST}route "10.65.0.7" is missing`],
  ],
  [
    "another alias",
    (node) => node.ip(node.host, `link set ${LINK.hostName} alias other`),
    [`${HOST}got alias "other", want "${LINK.alias}"`],
  ],
  [
    "another MAC on the host",
    (node) => node.ip(node.host, `link set ${LINK.hostName} address 02:00:00:00:00:09`),
    [`${HOST}got MAC address 02:00:00:00:00:09, want ee:ee:ee:ee:ee:ee`],
  ],
  ["a host side that is down", (node) => node.ip(node.host, `link set ${LINK.hostName} down`), [`${HOST}down`, /./, /./]],
  ["a pod side that is down", (node, pod) => node.ip(pod, "link set eth0 down"), [`${POD}down`, /./, /./, /./, /./, /./]],
  [
    "both ends missing",
    (node, pod) => node.ip(pod, "link del eth0"),
    [/^interface "eth0" in the pod: missing in network namespace/, `${HOST}missing`],
  ],
  [
    "ends that are not of one pair",
    (node, pod) => {
      node.ip(pod, "link set eth0 name old0");
      node.ip(pod, "link add name eth0 type veth peer name other");
      node.ip(pod, "link set eth0 up");
    },
    // Neighbours are not looked for: the other interface has a MAC of its own.
    [/address/, /address/, /route/, /route/, `interface "eth0" in the pod: its other end is not "${LINK.hostName}"`],
  ],
])("%s is a fault", (_, damage, faults) => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  addLink(node, pod, LINK);
  damage(node, pod);
  const found = inspect(node, pod, LINK);
  expect(found).toEqual(faults.map((fault) => (typeof fault === "string" ? fault : expect.stringMatching(fault))));
});

test.each<[string, Damage]>([
  ["another MTU", (node, pod) => node.ip(pod, "link set eth0 mtu 1400")],
  ["another MAC in the pod", (node, pod) => node.ip(pod, "link set eth0 address 02:00:00:00:00:09")],
  [
    "more addresses, routes and neighbours",
    (node, pod) => (node.ip(pod, "addr add 192.168.9.9/24 dev eth0"), node.ip(pod, "route add 10.9.0.0/16 via 169.254.1.1")),
  ],
  [
    "another interface's IPv6 default route of the same metric, which the kernel makes one route with ours,",
    (node, pod) => {
      node.ip(pod, "link add name net1 type veth peer name other");
      for (const name of ["net1", "other"]) node.ip(pod, `link set ${name} up`);
      node.ip(pod, "-6 route append default via fe80::1 dev net1");
    },
  ],
])("%s, which others may set, is none", (_, change) => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  addLink(node, pod, LINK);
  change(node, pod);
  expect(inspect(node, pod, LINK)).toEqual([]);
});

test("a missing route is no fault of a link that was to have none", () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  addLink(node, pod, LINK);
  node.ip(pod, "route del default");
  const less: PodLink = { ...LINK, routes: [] };
  expect(inspect(node, pod, less)).toEqual([]);
});
