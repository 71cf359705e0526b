/** A node whose firewall drops what it forwards, as Docker and ufw make it do: what the documents tell administrators to add lets pods through. */

import { expect, test } from "bun:test";
import { ShownDocument } from "../support/documents/document.ts";
import { addUsableLink } from "./support/add.ts";
import { NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const POD = ["10.65.0.7", "fd00:65::7"] as const;
const TARGET = ["10.65.0.8", "fd00:65::8"] as const;
const INSTALL = new ShownDocument("docs/install.md");
const NODE_REQUIREMENTS = new ShownDocument("docs/node-requirements.md");

/** @returns whether one pod of the node reaches the other, over IPv4 and over IPv6 */
async function addTwoPods(node: NamespacedNode): Promise<() => readonly boolean[]> {
  node.setSysctl(node.host, "ipv4/ip_forward", "1");
  const pod = node.addPlace("pod");
  const target = node.addPlace("target");
  await addUsableLink(node, pod, podLink("pod", { addresses: POD }));
  await addUsableLink(node, target, podLink("target", { addresses: TARGET, podMac: "02:11:22:33:44:66" }));
  return () => TARGET.map((address) => node.pings(pod, address));
}

test("pods reach each other again once the documented rules are there", async () => {
  using node = new NamespacedNode();
  const reached = await addTwoPods(node);

  for (const program of ["iptables", "ip6tables"]) node.run(node.host, program, "-P", "FORWARD", "DROP");
  expect(reached()).toEqual([false, false]);

  const commands = INSTALL.inlineWith("iptables -I FORWARD");
  expect(commands).toHaveLength(2);
  for (const command of commands) node.run(node.host, ...command.split(" "));
  expect(reached()).toEqual([true, false]);
  for (const command of commands) node.run(node.host, ...command.replace("iptables", "ip6tables").split(" "));
  expect(reached()).toEqual([true, true]);
});

test("the same for a table of nftables, which rules of iptables do not help", async () => {
  using node = new NamespacedNode();
  const reached = await addTwoPods(node);

  const chain = "add chain inet filter forward { type filter hook forward priority filter; policy drop; }";
  node.run(node.host, "nft", `add table inet filter; ${chain}`);
  for (const command of INSTALL.inlineWith("iptables -I FORWARD")) node.run(node.host, ...command.split(" "));
  expect(reached()).toEqual([false, false]);

  node.run(node.host, "sh", "-ec", NODE_REQUIREMENTS.block("", "nft insert rule"));
  expect(reached()).toEqual([true, true]);
});
