/** A node whose firewall drops what it forwards, as Docker and ufw make it do: what docs/install.md tells administrators to add lets pods through. */

import { expect, test } from "bun:test";
import { ShownDocument } from "../support/documents/document.ts";
import { addUsableLink } from "./support/add.ts";
import { NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const POD = ["10.65.0.7", "fd00:65::7"] as const;
const TARGET = ["10.65.0.8", "fd00:65::8"] as const;
const INSTALL = new ShownDocument("docs/install.md");

test("pods reach each other again once the documented rules are there", async () => {
  using node = new NamespacedNode();
  node.setSysctl(node.host, "ipv4/ip_forward", "1");
  const pod = node.addPlace("pod");
  const target = node.addPlace("target");
  await addUsableLink(node, pod, podLink("pod", { addresses: POD }));
  await addUsableLink(node, target, podLink("target", { addresses: TARGET, podMac: "02:11:22:33:44:66" }));
  const reached = (): readonly boolean[] => TARGET.map((address) => node.pings(pod, address));

  for (const program of ["iptables", "ip6tables"]) node.run(node.host, program, "-P", "FORWARD", "DROP");
  expect(reached()).toEqual([false, false]);

  const commands = INSTALL.inlineWith("iptables -I FORWARD");
  expect(commands).toHaveLength(2);
  for (const command of commands) node.run(node.host, ...command.split(" "));
  expect(reached()).toEqual([true, false]);
  for (const command of commands) node.run(node.host, ...command.replace("iptables", "ip6tables").split(" "));
  expect(reached()).toEqual([true, true]);
});
