/** How a benchmark calls plugins: as a runtime does, and with what `ptp` is compared by. */

import { join } from "node:path";
import { cniPluginsFolder, distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";

export type Verb = "ADD" | "DEL";

/** The whole environment of a call about `eth0`. */
export function environmentOf(verb: Verb, containerID: string, netns: string): Readonly<Record<string, string>> {
  return {
    PATH: process.env["PATH"] ?? "",
    CNI_COMMAND: verb,
    CNI_PATH: `${distFolder}:${cniPluginsFolder}`,
    CNI_CONTAINERID: containerID,
    CNI_NETNS: netns,
    CNI_IFNAME: "eth0",
  };
}

/** `ptp` with `host-local`. @param folder in which it keeps what it has given */
export function ptpConfig(folder: string): Json {
  const ipam = { type: "host-local", dataDir: join(folder, "host-local"), ranges: [[{ subnet: "10.66.0.0/16" }]] };
  return { cniVersion: "1.0.0", name: "bench-ptp", type: "ptp", ipMasq: false, ipam };
}
