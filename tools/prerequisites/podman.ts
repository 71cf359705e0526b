/** Which Podman this machine has. */

import { findSystemTool } from "./system-tools.ts";

/** The last major version that calls CNI plugins; later ones have a network program of their own. */
const LAST_WITH_CNI = 4;

/** Whether there is a Podman, and it calls CNI plugins. */
export function podmanCallsPlugins(): boolean {
  const podman = findSystemTool("podman");
  if (podman === undefined) return false;
  const result = Bun.spawnSync([podman, "--version"], { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  const major = /version (\d+)\./.exec(result.stdout.toString())?.[1];
  return major !== undefined && Number(major) <= LAST_WITH_CNI;
}
