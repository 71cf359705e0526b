/** Entry point of both CNI roles: VERSION is answered at once, everything else loads the plugin. */

import type { PluginName } from "./call.ts";
import { toVersionInfo } from "./protocol/versions.ts";

/**
 * Runs one CNI verb with the real environment, stdin and stdout of the process.
 *
 * @returns the exit status of VERSION, and that of a call which cannot end the process itself
 */
export async function runAsProgram(plugin: PluginName, command: string): Promise<number> {
  if (command === "VERSION") {
    const { answerOrFail } = await import("../linux/answer.ts");
    return answerOrFail(JSON.stringify(toVersionInfo()), plugin);
  }
  const { runProcess } = await import("./process.ts");
  return await runProcess(plugin);
}
