/** The conflists of documents and the call by hand, played as they stand; only where etcd and the node's files are is the test's own. */

import { expect, test } from "bun:test";
import { type CniJson, distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { Reader } from "../support/documents/reader.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

interface Conflist {
  readonly cniVersion: string;
  readonly name: string;
  readonly plugins: readonly (Json & { readonly type: string })[];
}

const CONTAINER_HOSTS = new ShownDocument("docs/container-hosts.md");
const CONFLISTS = [new ShownDocument("docs/network-config.md"), CONTAINER_HOSTS].flatMap((document) =>
  document.blocks("json").map((code) => JSON.parse(code) as Conflist),
);

const node = share(
  () => TestNode.start(["fd65::/112"]),
  (node) => node.createPool("blue", { cidr: "10.65.0.0/24" }),
);

/** Of the test: where the node's files and etcd are. */
function ownPlaces(): Json {
  const { etcd_endpoints, lib_dir, ipam_lock_file } = node.config();
  return { etcd_endpoints, lib_dir, ipam_lock_file };
}

/** What a plugin of the list gets from the runtime. A plugin that does not know the list's version gets 1.0.0, as docs/install.md says. */
async function toConfig({ cniVersion, name, plugins }: Conflist, i: number): Promise<Json & { readonly type: string }> {
  const { capabilities: _, etcd_key_file: _key, etcd_cert_file: _cert, etcd_ca_cert_file: _ca, ...entry } = plugins[i] ?? { type: "" };
  const { json } = await node.call("VERSION", { plugin: entry.type, config: { cniVersion: "1.0.0" } });
  const version = json?.supportedVersions?.includes(cniVersion) === true ? cniVersion : "1.0.0";
  const { log_file_path } = node.config();
  const own = { ...ownPlaces(), ...("log_file_path" in entry && { log_file_path }) };
  return { cniVersion: version, name, ...entry, ...("ipam" in entry && own), type: entry.type };
}

test.each(CONFLISTS.map((list): [string, Conflist] => [list.plugins.map(({ type }) => type).join(" + "), list]))(
  "%s gives a pod its addresses and releases them",
  async (_what, list) => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const configs = await Promise.all(list.plugins.map((_entry, i) => toConfig(list, i)));
    let prevResult: CniJson | undefined;
    for (const config of configs) {
      const earlier = prevResult === undefined ? {} : { prevResult: { ...prevResult, cniVersion: config["cniVersion"] } };
      const { json } = await node.call("ADD", { plugin: config.type, containerID, netns: pod.path, config: { ...config, ...earlier } });
      expect(json?.code).toBeUndefined();
      prevResult = json;
    }
    const wantsV6 = JSON.stringify(list).includes('"assign_ipv6":"true"');
    const wanted = [expect.stringMatching(/^10\.65\.0\./), ...(wantsV6 ? [expect.stringMatching(/^fd65::/)] : [])];
    expect(prevResult?.ips?.map(({ address }) => address)).toEqual(wanted);
    expect(pod.addresses("eth0")).toEqual(wanted);
    for (const config of configs.toReversed())
      expect((await node.call("DEL", { plugin: config.type, containerID, netns: pod.path, config })).stdout).toBe("");
    expect([pod.link("eth0"), await node.addressesInUse()]).toEqual([undefined, 0]);
  },
);

test("there are the smallest one, a fuller one, one of another main plugin, and Podman's", () => {
  const podman = ["netplug", "portmap"];
  expect(CONFLISTS.map(({ plugins }) => plugins.map(({ type }) => type))).toEqual([["netplug"], ["netplug", "portmap"], ["ptp"], podman]);
});

test("the call by hand of docs/container-hosts.md gives an interface with an address, which the same with DEL takes away", async () => {
  using pod = new TestNetns();
  const reader = new Reader(node.folder, node.datastore.env);
  const lines = CONTAINER_HOSTS.block("", "ip netns add try")
    .replace("ip netns add try\n", "")
    .replaceAll("/run/netns/try", pod.path)
    .replaceAll("-n try", `-n ${pod.netns}`)
    .replaceAll("/opt/cni/bin", distFolder)
    .replace(/^\{.*\}$/m, (config) => JSON.stringify({ ...(JSON.parse(config) as Json), ...ownPlaces() }));
  const [adding = "", showing] = lines.split("netplugctl ");
  const added = await reader.type(adding);
  const [address = "no address"] = pod.addresses("eth0");
  expect(added).toContain(`inet ${address} `);
  const shown = await reader.type(`netplugctl ${showing?.replace("<the address>", address.replace("/32", ""))}`);
  expect(shown).toContain('is in use by container "try"');
  const call = adding.slice(adding.indexOf("CNI_COMMAND="), adding.indexOf("ip -n"));
  await reader.type(call.replace("CNI_COMMAND=ADD", "CNI_COMMAND=DEL"));
  expect([pod.link("eth0"), await node.addressesInUse()]).toEqual([undefined, 0]);
});
