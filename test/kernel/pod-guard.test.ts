/**
 * What SECURITY.md says of packets that pods send: what arrives as long as there is no agent, and that the rules which it tells
 * administrators to load stop it, and nothing else.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { DOCUMENTED_RULES, DOCUMENTED_TABLE } from "../support/documents/documented-rules.ts";
import { addUsableLink } from "./support/add.ts";
import { type Place, NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const POD = ["10.65.0.7", "fd00:65::7"] as const;
const TARGET = ["10.65.0.8", "fd00:65::8"] as const;
const LATER = ["10.65.0.9", "fd00:65::9"] as const;
/** Nobody's, and another pod's. */
const FORGED = ["198.51.100.1", LATER[0], "2001:db8:1::1", LATER[1]] as const;
/** The pod's next hop, which is the host side of its link. */
const NEXT_HOP = "fe80::ecee:eeff:feee:eeee%eth0";

let node: NamespacedNode;
let pod: Place;
let target: Place;

beforeAll(async () => {
  node = new NamespacedNode();
  // by it, the loose form of reverse path filtering lets every source pass
  node.ip(node.host, `link add up0 type veth peer name up0 netns ${node.addPlace("outside").name}`);
  node.ip(node.host, "link set up0 up");
  node.ip(node.host, "route add default dev up0");
  node.ip(node.host, "-6 route add default dev up0");
  node.setSysctl(node.host, "ipv4/ip_forward", "1");
  pod = node.addPlace("pod");
  target = node.addPlace("target");
  await addUsableLink(node, pod, podLink("pod", { addresses: POD }));
  await addUsableLink(node, target, podLink("target", { addresses: TARGET, podMac: "02:11:22:33:44:66" }));

  for (const source of FORGED) node.ip(pod, source.includes(":") ? `addr add ${source}/128 dev lo nodad` : `addr add ${source}/32 dev lo`);
  // 127.0.0.1 is then the node's, as for a program that makes the packet itself
  node.ip(pod, "addr del 127.0.0.1/8 dev lo");
  node.ip(pod, `route add 127.0.0.1 via 169.254.1.1 dev eth0 src ${POD[0]}`);
  node.setSysctl(pod, "ipv4/conf/eth0/route_localnet", "1");
  // the kernel may have asked for a neighbour in the name of 127.0.0.1, which no pod answers
  node.pings(pod, "192.0.2.1");
});
afterAll(() => node[Symbol.dispose]());

/** Of the forged sources those whose packets get from the pod to the target, by the count of the target's own kernel. */
function forgedThatArrive(): readonly string[] {
  const rules = FORGED.map((source) => `${source.includes(":") ? "ip6" : "ip"} saddr ${source} counter`);
  const hook = "type filter hook prerouting priority raw; policy accept;";
  node.load(target, ["table inet seen {", "chain in {", hook, ...rules, "}", "}"].join("\n"));
  const pings = FORGED.map((source) => `ping -n -c1 -W1 -I ${source} ${source.includes(":") ? TARGET[1] : TARGET[0]} &`);
  node.run(pod, "sh", "-c", `${pings.join(" ")} wait`);
  const seen = [...node.run(target, "nft", "list", "table", "inet", "seen").matchAll(/saddr (\S+) counter packets [1-9]/g)];
  node.run(target, "nft", "delete", "table", "inet", "seen");
  return seen.map(([, source = ""]) => source);
}

const reachesLoopback = (): boolean => node.succeeds(pod, "ping", "-n", "-c1", "-W1", "-I", POD[0], "127.0.0.1");

test("without the rules forged sources reach another pod, and the node's 127.0.0.1 answers a pod", () => {
  expect(forgedThatArrive()).toEqual([...FORGED]);
  expect(reachesLoopback()).toBe(true);
});

test("reverse path filtering by sysctl stops forged sources of IPv4 alone, and no packet to 127.0.0.1", () => {
  node.setSysctl(node.host, "ipv4/conf/all/rp_filter", "1");
  expect(forgedThatArrive()).toEqual(FORGED.slice(2));
  expect(reachesLoopback()).toBe(true);
  node.setSysctl(node.host, "ipv4/conf/all/rp_filter", "0");
});

test("with the rules, loaded twice, neither arrives; all else does, and a pod that comes later works", async () => {
  node.load(node.host, DOCUMENTED_RULES);
  node.load(node.host, DOCUMENTED_RULES);
  expect(forgedThatArrive()).toEqual([]);
  expect(reachesLoopback()).toBe(false);

  const later = node.addPlace("later");
  await addUsableLink(node, later, podLink("later", { addresses: LATER, podMac: "02:11:22:33:44:77" }));
  const [v4, v6] = [LATER[0], LATER[1]];
  const ways = [
    ...[...TARGET, "192.0.2.1", "2001:db8::1", NEXT_HOP].map((address) => [later, address] as const),
    ...[v4, v6].flatMap((address) => [[target, address] as const, [node.host, address] as const]),
  ];
  expect(ways.filter(([from, address]) => !node.pings(from, address))).toEqual([]);

  node.run(node.host, "nft", "delete", "table", "inet", DOCUMENTED_TABLE);
  expect(reachesLoopback()).toBe(true);
});
