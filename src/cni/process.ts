/** One process of the plugin: the real host, one call, and the end. */

import { endProcess } from "../linux/standard-streams.ts";
import type { PluginName } from "./call.ts";
import type { Host } from "./host.ts";
import { runPlugin } from "./plugin.ts";
import { realHost } from "./real-host.ts";

/** Runs the call and ends the process. @returns the exit status when the C library cannot be loaded */
export async function runProcess(plugin: PluginName): Promise<number> {
  const host = realHost();
  let answer = "";
  const writeAnswer: Host["writeAnswer"] = (text, remainingMs) => host.writeAnswer((answer = text), remainingMs);
  try {
    return endProcess(await runPlugin(plugin, { ...host, writeAnswer }));
  } catch (thrown) {
    return (await import("../linux/answer.ts")).failUnwritten(thrown, plugin, { answer, status: 1 });
  }
}
