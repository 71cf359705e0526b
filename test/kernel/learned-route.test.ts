/** A node whose way out over IPv6 is told it by a router: the kernel drops that route when the settings of any interface are those of a router. */

import { expect, test } from "bun:test";
import { linuxKernel } from "../../src/cni/link/kernel.ts";
import { neededSettings } from "../../src/cni/link/needed-settings.ts";
import { eventually } from "../support/time/eventually.ts";
import { addUsableLink } from "./support/add.ts";
import { NamespacedNode, type Place } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

/** Sends one advertisement to all nodes by the interface of this index: a router for half an hour. @see RFC 4861 §4.2 */
const ADVERTISE = `
  use Socket qw(:DEFAULT IPPROTO_IPV6 IPV6_MULTICAST_IF inet_pton pack_sockaddr_in6);
  my ($index, $icmpv6, $multicast_hops) = (shift, 58, 18);
  socket(my $socket, AF_INET6, SOCK_RAW, $icmpv6) or die $!;
  setsockopt($socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, pack("i", $index)) or die $!;
  setsockopt($socket, IPPROTO_IPV6, $multicast_hops, pack("i", 255)) or die $!;
  send($socket, pack("CCnCCnNN", 134, 0, 0, 64, 0, 1800, 0, 0), 0, pack_sockaddr_in6(0, inet_pton(AF_INET6, "ff02::1"), $index)) or die $!;`;

/** With a router beside it; until something is told otherwise it forwards nothing, and listens to advertisements. */
function connectRouter(node: NamespacedNode): Place {
  const router = node.addPlace("router");
  node.ip(router, `link add down0 type veth peer name up0 netns ${node.host.name}`);
  node.ip(router, "link set down0 up");
  node.ip(node.host, "link set up0 up");
  node.setSysctl(node.host, "ipv6/conf/all/forwarding", "0");
  return router;
}

test.each([
  ["that forwards nothing", "0", []],
  ["that forwards, but is a host on that link", "1", []],
  ["that does so, and prefers another route", "1", ["default via fe80::1 dev up0 metric 100 proto static"]],
])("a node %s keeps it, when a pod comes and when its settings are made again, and a CHECK wants no more", async (_, all, others) => {
  using node = new NamespacedNode();
  const router = connectRouter(node);
  node.setSysctl(node.host, "ipv6/conf/all/forwarding", all);
  node.setSysctl(node.host, "ipv6/conf/up0/forwarding", "0");
  for (const route of others) node.ip(node.host, `-6 route add ${route}`);
  const learned = (): number => node.ipJson(node.host, "-6 route show default proto ra").length;
  const index = String(node.ipJson(router, "link show down0")[0]?.["ifindex"]);
  // what is sent before the addresses of the link are usable is lost
  await eventually(() => {
    node.run(router, "perl", "-e", ADVERTISE, index);
    expect(learned()).toBe(1);
  });
  const pod = node.addPlace("a");
  const link = podLink("ctr", { addresses: ["fd00:65::7"] });
  await addUsableLink(node, pod, link);
  expect(learned()).toBe(1);
  expect(node.pings(node.host, "fd00:65::7")).toBe(true);

  const needed = node.onHost(() => {
    const settings = neededSettings(link);
    linuxKernel.writeSysctls(settings);
    return settings;
  });
  expect(learned()).toBe(1);
  for (const { path, value } of needed) expect([path, node.sysctl(node.host, path)]).toEqual([path, value]);
});
