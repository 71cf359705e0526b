/** The limits that docs/install.md calls enough are enough. Those of cgroups are not tried here. */

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { distFolder } from "../support/programs/cni.ts";
import { TestNetns } from "../support/node/netns.ts";
import { runProgram } from "../support/programs/programs.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24"]));

/** The number in the second column of the row that names a limit. */
function documented(limit: string): number {
  const rows = readFileSync(join(import.meta.dir, "../../docs/install.md"), "utf8").split("\n");
  const [, , cell = ""] = rows.find((row) => row.startsWith("|") && row.includes(`\`${limit}=\``))?.split("|") ?? [];
  return Number.parseFloat(cell);
}

test("ADD and DEL get by with the open files, address space, data and stack of the document, and no variables but those of CNI", async () => {
  const KIB_PER_GIB = 2 ** 20;
  const limits = {
    n: documented("LimitNOFILE"),
    v: documented("LimitAS") * KIB_PER_GIB,
    d: documented("LimitDATA") * KIB_PER_GIB,
    s: documented("LimitSTACK"),
  };
  const file = join(node.folder, "config.json");
  writeFileSync(file, JSON.stringify(node.config({ log_level: "WARNING" })));
  const script = Object.entries(limits).map(([option, value]) => `ulimit -${option} ${value}`);
  using pod = new TestNetns();
  for (const verb of ["ADD", "DEL"]) {
    const call = await runProgram(["/bin/sh", "-ec", [...script, `exec ${distFolder}/netplug <${file}`].join("\n")], {
      env: { CNI_COMMAND: verb, CNI_CONTAINERID: "limited", CNI_NETNS: pod.path, CNI_IFNAME: "eth0", CNI_PATH: distFolder },
    });
    expect([verb, call.status, call.stderr]).toEqual([verb, 0, ""]);
  }
});
