/** Entry point of both CNI roles: VERSION is answered at once, everything else loads the plugin. */

import type { PluginName } from "./call.ts";
import { toVersionInfo } from "./protocol/versions.ts";

/**
 * Runs one CNI verb with the real environment, stdin and stdout of the process.
 *
 * @returns the exit status of VERSION; the other verbs end the process, if they can
 */
export async function runAsProgram(plugin: PluginName, command: string): Promise<number> {
  if (command === "VERSION") {
    console.log(JSON.stringify(toVersionInfo()));
    return 0;
  }
  const { runWithRealHost } = await import("./real-host.ts");
  return await runWithRealHost(plugin);
}
