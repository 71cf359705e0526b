/** Which CNI version the plugins of a list have in common. */

import { messageOf } from "../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log/log.ts";
import type { InstallHost } from "../host.ts";

/** The first version in which a runtime asks for STATUS and GC. */
export const NEWEST = "1.1.0";
/** What every chained plugin of the last years knows. */
export const SAFE = "1.0.0";

/** Of a plugin that has said which versions it knows. */
export const UNKNOWN = `it does not know ${NEWEST}`;

const TIMEOUT_MS = 5_000;

/** Whether a network config is of the newest version. */
export function saysNewest(config: string): boolean {
  const document = parseJson(config);
  return isJsonObject(document) && document["cniVersion"] === NEWEST;
}

/**
 * The version for a network config: 1.1.0 when each of the chained plugins lists it, else 1.0.0. The log says which plugin does not, and
 * why.
 */
export async function findCommonVersion(folder: string, plugins: readonly string[], host: InstallHost, log: Log): Promise<string> {
  const reasons = await Promise.all(plugins.map(async (plugin) => await findObstacle(`${folder}/${plugin}`, host)));
  let version: string = NEWEST;
  for (const [index, reason] of reasons.entries()) {
    if (reason === undefined) continue;
    version = SAFE;
    log.warning(`chained plugin keeps the network config at CNI ${SAFE}: no STATUS and no GC`, { plugin: plugins[index], reason });
  }
  return version;
}

/** @returns why the newest version cannot be used with this plugin, {@link UNKNOWN} for example; undefined when it can */
export async function findObstacle(path: string, { disk, env, processes }: InstallHost): Promise<string | undefined> {
  if (disk.stat(path) === undefined) {
    return disk.statLink(path) === undefined
      ? "it is not in the folder of plugins; without it no pod gets a network"
      : "it is a symbolic link to what cannot be seen from here; put the file itself there";
  }
  try {
    const { status, stdout } = await processes.run({
      command: path,
      env: { CNI_COMMAND: "VERSION", PATH: env["PATH"] ?? "" },
      stdin: JSON.stringify({ cniVersion: NEWEST }),
      timeoutMs: TIMEOUT_MS,
    });
    if (status !== 0) return `it ends with status ${status} when asked for its versions`;
    const answer = parseJson(stdout);
    const versions = isJsonObject(answer) ? answer["supportedVersions"] : undefined;
    if (!Array.isArray(versions)) return "it does not say which versions it knows";
    return versions.includes(NEWEST) ? undefined : UNKNOWN;
  } catch (thrown) {
    return messageOf(thrown);
  }
}
