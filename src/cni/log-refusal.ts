/** What the log says of a call that was refused before its network config was read to the end. */

import { isJsonObject, tryParseForeignJson } from "../lib/json.ts";
import type { LogConfig } from "./config/network-config.ts";
import { parseNetworkConfig } from "./config/parse-network-config.ts";
import type { Host } from "./host.ts";
import type { ErrorOutput } from "./protocol/error-output.ts";
import { isVerb, LATEST_VERSION } from "./protocol/versions.ts";

/** A call as far as it was read. */
export interface RefusedCall {
  readonly host: Host;
  readonly stdin: string;
  /** Fields of its log lines. */
  readonly subject: Readonly<Record<string, string>>;
}

/** Logs the refusal where the network config says, as far as that can be read. Does not throw: the answer is still to be written. */
export function logRefusal({ host, stdin, subject }: RefusedCall, { msg, code, details }: ErrorOutput): void {
  const command = host.env["CNI_COMMAND"] ?? "";
  try {
    host.openLog(logConfigOf(stdin), subject).error(msg, { verb: isVerb(command) ? command : undefined, code, details });
  } catch {
    // Without the C library nothing can be logged.
  }
}

/** A wrong key of the log has no effect, as in a DEL. */
function logConfigOf(stdin: string): LogConfig {
  const document = tryParseForeignJson(stdin);
  const keys = Object.entries(isJsonObject(document) ? document : {}).filter(([key]) => key.startsWith("log_"));
  const config = { ...Object.fromEntries(keys), cniVersion: LATEST_VERSION, name: "refused" };
  return parseNetworkConfig(JSON.stringify(config), "DEL").config.log;
}
