/**
 * The limits that docs/node-requirements.md calls enough are enough, and what is too little for a start looks as in docs/troubleshooting.md.
 * Those of cgroups are not tried here.
 */

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ShownDocument } from "../support/documents/document.ts";
import { pluginPath } from "../support/programs/cni.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const KIB_PER_MIB = 2 ** 10;
const KIB_PER_GIB = 2 ** 20;

const node = share(() => TestNode.start(["10.65.0.0/24"]));

/** A plugin that is ours after some commands of a shell. @returns its path */
function pluginAfter(commands: readonly string[]): string {
  const plugin = join(node.folder, "limited");
  writeFileSync(plugin, ["#!/bin/sh -e", ...commands, `exec ${pluginPath("netplug")}`].join("\n"), { mode: 0o755 });
  return plugin;
}

/** The numbers in the second column of the row that names a limit: of every call, and of a single one on etcd where that is said. */
function documented(limit: string): { readonly always: number; readonly onEtcd: number } {
  const rows = readFileSync(join(import.meta.dir, "../../docs/node-requirements.md"), "utf8").split("\n");
  const [, , cell = ""] = rows.find((row) => row.startsWith("|") && row.includes(`\`${limit}=\``))?.split("|") ?? [];
  const [always = "", onEtcd = always] = cell.split(";");
  return { always: Number.parseFloat(always), onEtcd: Number.parseFloat(onEtcd) };
}

test.each(["netplug-ipam", "host-local"])(
  "ADD and DEL with %s get by with the open files, address space, data and stack of the document, and no variables but those of CNI",
  async (type) => {
    const limits = {
      // The runtime closes its ends of one delegate's pipes when it comes to that, which may be after the next delegate has been started.
      n: documented("LimitNOFILE")[isOnEtcd && type === "netplug-ipam" ? "onEtcd" : "always"],
      v: documented("LimitAS").always * KIB_PER_GIB,
      d: documented("LimitDATA").always * KIB_PER_GIB,
      s: documented("LimitSTACK").always,
    };
    const plugin = pluginAfter(Object.entries(limits).map(([option, value]) => `ulimit -${option} ${value}`));
    const hostLocal = { dataDir: join(node.folder, "host-local"), ranges: [[{ subnet: "10.99.0.0/24" }]] };
    const config = node.config({ log_level: "WARNING", ipam: { type, ...(type === "host-local" && hostLocal) } });
    const containerID = node.newContainerID();
    using pod = new TestNetns();
    for (const verb of ["ADD", "DEL"] as const) {
      // The pod is named as to ours, which the script is.
      const env = { PATH: undefined, CNI_ARGS: await node.datastore.prepare(verb, { containerID }) };
      const call = await node.call(verb, { containerID, netns: pod.path, plugin, config, env });
      expect([verb, call.status, call.stderr]).toEqual([verb, 0, ""]);
    }
  },
);

test.each<[what: string, commands: readonly string[], words: string]>([
  ["half a GiB of data", [`ulimit -d ${512 * KIB_PER_MIB}`], "requires the JIT"],
  ["200 MiB of data", ["ulimit -c 0", `ulimit -d ${200 * KIB_PER_MIB}`], "panic(main thread)"],
  ["a stack of 128 KiB", ["ulimit -s 128"], "Bun v…"],
  [
    "the end of its file missing",
    [`head -c -1000000 ${pluginPath("netplug")} > "$0.part"; chmod 755 "$0.part"; exec "$0.part"`],
    "is truncated",
  ],
  ["a working folder that was deleted", ['cd "$(mktemp -d)"', 'rmdir "$PWD"'], "The current working directory was deleted"],
])("with %s a call fails with words of docs/troubleshooting.md", async (_, commands, words) => {
  expect(new ShownDocument("docs/troubleshooting.md").inline()).toContain(words);
  const { status, stdout, stderr } = await node.call("STATUS", { plugin: pluginAfter(commands) });
  expect([status === 0, stdout + stderr]).toEqual([false, expect.stringContaining(words.replace("…", ""))]);
});
