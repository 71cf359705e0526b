/** For tests: a call of a plugin in the test's process. */

import type { PluginName } from "../../../src/cni/call.ts";
import type { Host } from "../../../src/cni/host.ts";
import { runPlugin } from "../../../src/cni/plugin.ts";
import { realHost } from "../../../src/cni/real-host.ts";
import type { CniJson } from "../../support/programs/cni.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import { silentLog } from "../../support/silent-log.ts";

export interface InProcessReply {
  readonly status: number;
  /** What it printed, if anything. */
  readonly json: CniJson | undefined;
}

/** @param change what is not as on this machine */
export async function callInProcess(
  plugin: PluginName,
  env: Host["env"],
  config: Json,
  change: Partial<Host> = {},
): Promise<InProcessReply> {
  let stdout = "";
  const status = await runPlugin(plugin, {
    ...realHost(),
    env,
    readStdin: () => JSON.stringify(config),
    writeAnswer: (text) => void (stdout = text),
    openLog: () => silentLog,
    ...change,
  });
  return { status, json: stdout === "" ? undefined : (JSON.parse(stdout) as CniJson) };
}
