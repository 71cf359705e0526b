/** What docs/pod-annotations.md tells people to do, done. */

import { expect } from "bun:test";
import { ShownDocument } from "../support/documents/document.ts";
import { eventually } from "../support/time/eventually.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { createNamespace, createPod, podArgs } from "../support/servers/kubernetes.ts";
import { TestNetns } from "../support/node/netns.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startPodWorld } from "../support/node/pod-world.ts";

const DOCUMENT = new ShownDocument("docs/pod-annotations.md");

const [test, world] = onApiServer(() => startPodWorld({ cidrs: ["10.65.0.0/24", "fd65::/112"], rights: ["pods", "namespaces"] }));

async function addressesOf(pod: { readonly namespace: string; readonly name: string }): Promise<readonly string[]> {
  using netns = new TestNetns();
  const call = { containerID: world.node.newContainerID(), netns: netns.path, args: podArgs(pod), config: world.config() };
  const { ips = [] } = await world.node.add(netns, call);
  await world.node.del(call);
  return ips.map(({ address }) => address);
}

test("a pod gets the fixed address of the example (needs cluster)", async () => {
  const { metadata } = Bun.YAML.parse(DOCUMENT.block("yaml", "ipAddrs:")) as {
    readonly metadata: { readonly annotations: Record<string, string> };
  };
  const pod = await createPod(world.api, { name: "fixed", otherAnnotations: metadata.annotations });
  expect(await addressesOf(pod)).toEqual(["10.65.0.7/32", "fd65::7/128"]);
});

test("a namespace gets its own pool by the example (needs cluster)", async () => {
  await world.node.apply(Bun.YAML.parse(DOCUMENT.block("yaml", "kind: IPPool")) as Json);
  await createNamespace(world.api, "shop");
  const command = DOCUMENT.block("", "kubectl annotate").trim().replaceAll("'", "").split(" ");
  await world.api.kubectl(command.slice(1));
  const pod = await createPod(world.api, { name: "till", namespace: "shop" });
  expect(await addressesOf(pod)).toEqual([expect.stringMatching(/^10\.66\./)]);
});

test("pods with a label get their own pool by the example (needs cluster)", async () => {
  const addressesWith = async (name: string, labels: Readonly<Record<string, string>>): Promise<readonly string[]> =>
    await addressesOf(await createPod(world.api, { name, labels }));
  await world.node.ctl(["apply", "-f", "-"], DOCUMENT.block("yaml", "podSelector:"));
  const [, patch = ""] = /^netplugctl patch ippool pool-0 -p '(.*)'\n$/.exec(DOCUMENT.block("", "netplugctl patch ippool")) ?? [];
  await world.node.ctl(["patch", "ippool", "pool-0", "-p", patch]);
  expect(await addressesWith("post", { app: "mail" })).toEqual([expect.stringMatching(/^10\.67\./)]);
  await world.node.ctl(["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":true}}']);
  expect(await addressesWith("web", { app: "web" })).toEqual([expect.stringMatching(/^10\.68\./)]);
  expect(await addressesWith("none", {})).toEqual([expect.stringMatching(/^10\.68\./)]);
  await world.node.ctl(["delete", "ippool", "mail", "others"]);
  await world.node.ctl(["patch", "ippool", "pool-0", "-p", '{"spec":{"disabled":false,"podSelector":""}}']);
});

test("the admission policy of the example keeps addresses to namespaces with the label (needs cluster)", async () => {
  await world.api.kubectl(["create", "-f", "-"], DOCUMENT.block("yaml", "ValidatingAdmissionPolicyBinding"));
  await createNamespace(world.api, "trusted");
  const [, label = ""] = /`kubectl label namespace shop (\S+)`/.exec(DOCUMENT.text) ?? [];
  await world.api.kubectl(["label", "namespace", "trusted", label]);
  let count = 0;
  // a policy begins to hold a little after it was created
  await eventually(async () => {
    const refused = createPod(world.api, { name: `chooser-${count++}`, annotations: { ipAddrsNoIpam: '["192.0.2.1"]' } });
    expect(await refused.catch((thrown: unknown) => String(thrown))).toContain("addresses of pods are chosen by netplug");
  });
  await createPod(world.api, { name: "plain", annotations: { ipv4pools: '["blue"]' } });
  await createPod(world.api, { name: "bare" });
  const annotate = async (text: string): Promise<string> =>
    await world.api.kubectl(["annotate", "--overwrite", "pod", "bare", `cni.netplug.io/${text}`]).catch(String);
  const forged = [
    "podIPs=10.65.0.9/32",
    "podIPs.net1=10.65.0.9/32",
    "containerID=x",
    'floatingIPs=["192.0.2.1"]',
    'ipAddrsByPod={"bare": ["10.65.0.9"]}',
  ];
  for (const text of forged) expect(await annotate(text)).toContain("addresses of pods are chosen by netplug");
  const bind = async (pod: string, path: string, annotations: Json): Promise<string> => {
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: pod, annotations }, target: { kind: "Node", name: "n1" } };
    return JSON.stringify(await world.api.request("POST", `/api/v1/namespaces/default/${path}`, binding));
  };
  for (const path of ["pods/bare/binding", "bindings"])
    expect(await bind("bare", path, { "cni.netplug.io/ipAddrs": '["10.65.0.9"]' })).toContain("addresses of pods are chosen by netplug");
  expect(await bind("plain", "pods/plain/binding", { "example.org/of": "a scheduler" })).toContain('"status":201');
  // what netplug writes stands in the way of no other change
  const recorded = JSON.stringify({ metadata: { annotations: { "cni.netplug.io/podIPs": "10.65.0.8/32" } } });
  await world.api.kubectl(["patch", "pod", "bare", "--subresource=status", "-p", recorded]);
  await world.api.kubectl(["label", "pod", "bare", "a=b"]);
  expect(await annotate("podIPs=10.65.0.9/32")).toContain("addresses of pods are chosen by netplug");
  expect(await annotate('ipv4pools=["blue"]')).toContain("annotated");
  await createPod(world.api, { name: "chooser", namespace: "trusted", annotations: { ipAddrs: '["10.65.0.9"]' } });
});
