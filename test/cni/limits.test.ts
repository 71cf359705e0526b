/** The limits that docs/node-requirements.md calls enough are enough. Those of cgroups are not tried here. */

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pluginPath } from "../support/programs/cni.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24"]));

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
    const KIB_PER_GIB = 2 ** 20;
    const limits = {
      n: documented("LimitNOFILE")[isOnEtcd && type === "netplug-ipam" ? "onEtcd" : "always"],
      v: documented("LimitAS").always * KIB_PER_GIB,
      d: documented("LimitDATA").always * KIB_PER_GIB,
      s: documented("LimitSTACK").always,
    };
    const script = Object.entries(limits).map(([option, value]) => `ulimit -${option} ${value}`);
    const plugin = join(node.folder, "limited");
    writeFileSync(plugin, ["#!/bin/sh -e", ...script, `exec ${pluginPath("netplug")}`].join("\n"), { mode: 0o755 });
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
