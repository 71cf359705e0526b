/** Calls of the plugin that run at this moment, as the kernel shows them. */

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { ClusterNode } from "./node.ts";

/** Resolves while at least two calls run on the node, once ADDs and DELs have both been seen. @throws Error after 90 s */
export async function untilCallsRun(node: ClusterNode): Promise<void> {
  const seen = new Set<string>();
  for (const end = performance.now() + 90_000; performance.now() < end; await Bun.sleep(1)) {
    const running = runningCalls(node)
      .map(({ verb }) => verb)
      .filter((verb) => verb === "ADD" || verb === "DEL");
    for (const verb of running) seen.add(verb);
    if (seen.size === 2 && running.length >= 2) return;
  }
  throw new Error(`wait for calls of the plugin on ${node.name}: saw ${[...seen].join(", ") || "none"} within 90 s`);
}

/** A process of the plugin. */
export interface RunningCall {
  readonly pid: number;
  /** `CNI_COMMAND` */
  readonly verb: string;
}

/** Those of one node. */
export function runningCalls(node: ClusterNode): readonly RunningCall[] {
  const home = tryTo(() => readlinkSync(`/proc/${node.init.pid}/ns/pid`));
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    // whatever has ended meanwhile does not run
    if (tryTo(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) !== "netplug") return [];
    if (tryTo(() => readlinkSync(`/proc/${pid}/ns/pid`)) !== home) return [];
    const verb = /(?:^|\0)CNI_COMMAND=(\w+)/.exec(tryTo(() => readFileSync(`/proc/${pid}/environ`, "utf8")) ?? "")?.[1];
    return verb === undefined ? [] : [{ pid: Number(pid), verb }];
  });
}

function tryTo<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
