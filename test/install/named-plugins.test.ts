/** What a run says of the plugins that a person's network config names. */

import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { CONFLIST, InstallNode } from "./support/node.ts";

test.each<[entries: readonly object[], missing: readonly string[]]>([
  [[{ type: "netplug", ipam: { type: "netplug-ipam" } }, { type: "portmap" }, { type: "linked" }], []],
  [
    [{ type: "netplug", ipam: { type: "netplug-ipam" } }, { type: "bandwidth" }, { type: "portmap" }, { type: "tuning" }],
    ["bandwidth", "tuning"],
  ],
  [
    [{ type: "ptp", ipam: { type: "host-local" } }, { type: "portmap" }, { type: "ptp" }],
    ["ptp", "host-local"],
  ],
  // No file can have such a name, nor does a runtime look in another folder.
  [
    [{ type: "netplug", ipam: { type: "netplug-ipam" } }, { type: "x".repeat(256) }, { type: "nul\0" }, { type: "../bin/portmap" }],
    ["x".repeat(256), "nul\0", "../bin/portmap"],
  ],
])("of a template with %j warns of the plugins that are not on the node, and is written: %j", async (plugins, missing) => {
  using node = new InstallNode();
  node.addPlugin("portmap", ["1.0.0"]);
  symlinkSync("/nowhere/linked", join(node.binDir, "linked"));
  const template = JSON.stringify({ name: "a", cniVersion: "1.0.0", plugins });
  const { status, log } = await node.run({ env: { CNI_NETWORK_CONFIG: template } });
  expect([status, node.read(`net.d/${CONFLIST}`)]).toEqual([0, template]);
  const warnings = log.filter(({ msg }) => msg.includes("not in the folder of plugins"));
  expect(warnings.map(({ level, fields }) => [level, fields["names"]])).toEqual(missing.length === 0 ? [] : [["WARNING", missing]]);
});

test.each<[cniVersion: string, old: readonly string[]]>([
  ["1.1.0", ["portmap", "host-local"]],
  ["1.0.0", []],
])("of a template with cniVersion %s warns of the plugins that say that they do not know it: %j", async (cniVersion, old) => {
  using node = new InstallNode();
  node.addPlugin("portmap", ["1.0.0"]);
  node.addPlugin("host-local", ["0.4.0", "1.0.0"]);
  node.addPlugin("tuning", ["1.0.0", "1.1.0"]);
  node.addPlugin("failing", ["1.0.0"], 3);
  node.addPlugin("silent", undefined);
  const chained = ["portmap", "tuning", "failing", "silent", "none"].map((type) => ({ type }));
  const plugins = [{ type: "netplug", ipam: { type: "netplug-ipam" } }, ...chained, { type: "tuning", ipam: { type: "host-local" } }];
  const template = JSON.stringify({ name: "a", cniVersion, plugins });
  const { status, log } = await node.run({ env: { CNI_NETWORK_CONFIG: template } });
  expect([status, node.read(`net.d/${CONFLIST}`)]).toEqual([0, template]);
  const warnings = log.filter(({ msg }) => msg === "the network config names plugins that do not know CNI 1.1.0: no pod will start");
  const want = "cniVersion 1.0.0, or newer ones";
  expect(warnings.map(({ level, fields }) => [level, fields])).toEqual(old.length === 0 ? [] : [["WARNING", { names: old, want }]]);
});

test.each([
  ["CNI_NETWORK_CONFIG", (text: string) => text],
  ["the file that CNI_NETWORK_CONFIG_FILE names", (_text: string, path: string) => path],
])("of a template with a plugin that is not on the node warns to take it out of %s", async (place, toValue) => {
  using node = new InstallNode();
  const text = '{"name":"a","plugins":[{"type":"x"}]}';
  node.write("template", text);
  const variable = /CNI_\w+/.exec(place)?.[0] ?? "";
  const { log } = await node.run({ env: { [variable]: toValue(text, join(node.folder, "template")) } });
  expect(log.find(({ fields }) => "names" in fields)?.fields["want"]).toBe(`install them, or take them out of ${place}`);
});
