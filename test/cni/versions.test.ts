/** Every verb in every spec version, by a direct call as a runtime makes it. */

import { describe, expect, test } from "bun:test";
import { CNI_VERSIONS } from "../support/programs/cni.ts";
import type { CniJson, CniVersion } from "../support/programs/cni.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

const dualStack = (cniVersion: CniVersion, extra: Record<string, unknown> = {}) =>
  node.config({ cniVersion, ipam: { assign_ipv4: "true", assign_ipv6: "true" }, ...extra });

const has = (version: CniVersion, since: CniVersion): boolean => CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(since);

describe.each(["netplug", "netplug-ipam"])("%s", (plugin) => {
  test("VERSION lists all seven versions, in the newest whatever the config asks for", async () => {
    for (const cniVersion of CNI_VERSIONS) {
      const { status, json, stderr } = await node.call("VERSION", { plugin, config: { cniVersion } });
      const answer = { cniVersion: "1.1.0", supportedVersions: [...CNI_VERSIONS] };
      expect({ status, json, stderr }).toEqual({ status: 0, json: answer, stderr: "" });
    }
  });

  test.each(["0.3.2", "2.0.0", "1.2.0"])("a config of version %s is code 1", async (cniVersion) => {
    using pod = new TestNetns();
    const config = { ...node.config(), cniVersion };
    const reply = await node.call("ADD", { plugin, containerID: node.newContainerID(), netns: pod.path, config });
    expect([reply.status, reply.json?.code]).toEqual([1, 1]);
  });

  test.each(CNI_VERSIONS)("%s: the verbs that the version has work, the others are code 1", async (cniVersion) => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const config = dualStack(cniVersion);
    const inUseBefore = await node.addressesInUse();
    const call = { plugin, containerID, netns: pod.path };

    const added = await node.call("ADD", { ...call, config });
    expect([added.status, added.status === 0 ? "" : added.stdout]).toEqual([0, ""]);
    const result = added.json ?? {};
    expect(result.cniVersion).toBe(cniVersion);
    expectShape(plugin, cniVersion, result);

    const checked = await node.call("CHECK", { ...call, config: { ...config, prevResult: result } });
    expect([checked.status, checked.json?.code, has(cniVersion, "0.4.0") ? checked.stdout : ""]).toEqual(
      has(cniVersion, "0.4.0") ? [0, undefined, ""] : [1, 1, ""],
    );

    for (const verb of ["STATUS", "GC"] as const) {
      const reply = await node.call(verb, {
        plugin,
        config: { ...config, "cni.dev/valid-attachments": [{ containerID, ifname: "eth0" }] },
      });
      expect([verb, reply.status, reply.json?.code]).toEqual(has(cniVersion, "1.1.0") ? [verb, 0, undefined] : [verb, 1, 1]);
    }

    const deleted = await node.call("DEL", { ...call, config: { ...config, prevResult: result } });
    expect([deleted.status, deleted.stdout]).toEqual([0, ""]);
    const again = await node.call("DEL", { ...call, config });
    expect([again.status, again.stdout]).toEqual([0, ""]);
    expect(pod.links().map(({ ifname }) => ifname)).toEqual(["lo"]);
    expect(nodePlace.link(node.hostSide(containerID))).toBeUndefined();
    expect(await node.addressesInUse()).toBe(inUseBefore);
  });
});

/** What a reader of that version's section "Result" expects. */
function expectShape(plugin: string, version: CniVersion, result: CniJson): void {
  const isMain = plugin === "netplug";
  if (!has(version, "0.3.0")) {
    expect(result.ip4?.ip).toMatch(isMain ? /^10\.65\.0\.\d+\/32$/ : /^10\.65\.0\.\d+\/26$/);
    expect(result.ip6?.ip).toMatch(isMain ? /^fd65::[0-9a-f:]+\/128$/ : /^fd65::[0-9a-f:]*\/122$/);
    expect(result.ips).toBeUndefined();
    return;
  }
  const versions = result.ips?.map((ip) => ip.version);
  expect(versions).toEqual(has(version, "1.0.0") ? [undefined, undefined] : ["4", "6"]);
  if (!isMain) {
    expect(result.ips?.map((ip) => ip.gateway)).toEqual(["169.254.1.1", "fe80::ecee:eeff:feee:eeee"]);
    expect(result.ips?.map((ip) => ip.address.split("/")[1])).toEqual(["26", "122"]);
    expect(result.routes ?? []).toEqual([]);
    return;
  }
  expect(result.ips?.map((ip) => [ip.address.split("/")[1], ip.interface, ip.gateway])).toEqual([
    ["32", 1, undefined],
    ["128", 1, undefined],
  ]);
  expect(result.interfaces).toHaveLength(2);
  expect(result.interfaces?.[0]?.name).toMatch(/^npg[0-9a-f]{11}$/);
  expect(result.interfaces?.[0]?.sandbox ?? "").toBe("");
  expect(result.interfaces?.[1]?.name).toBe("eth0");
  expect(result.interfaces?.[1]?.sandbox).toStartWith("/run/netns/npgt-");
  expect(result.routes?.map(({ dst }) => dst)).toEqual(["0.0.0.0/0", "::/0"]);
}
