/** Agreeing with a delegate on a CNI version when it does not know the config's. */

import { isJsonObject, parseJson } from "../../lib/json.ts";
import { invoke } from "./invoke.ts";
import type { DelegateCall, DelegatePorts } from "./invoke.ts";

/** CNI versions that we can speak to a delegate, rising. */
const OUR_VERSIONS = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/**
 * The highest version that both know.
 *
 * @returns undefined when there is none, or the delegate does not answer VERSION
 */
export async function negotiateVersion(call: DelegateCall, ports: DelegatePorts): Promise<string | undefined> {
  const answer = await invoke("VERSION", call, { cniVersion: versionOf(call.config) }, ports);
  if (!answer.ok) return undefined;
  const theirs = new Set(toSupportedVersions(answer.stdout));
  return OUR_VERSIONS.findLast((version) => theirs.has(version));
}

/** The CNI version of a network config; one that has none is 0.1.0. */
export function versionOf(config: Readonly<Record<string, unknown>>): string {
  const { cniVersion } = config;
  return typeof cniVersion === "string" && cniVersion !== "" ? cniVersion : "0.1.0";
}

function toSupportedVersions(stdout: string): readonly unknown[] {
  try {
    const answer = parseJson(stdout);
    const versions = isJsonObject(answer) ? answer["supportedVersions"] : undefined;
    return Array.isArray(versions) ? versions : [];
  } catch {
    return [];
  }
}
