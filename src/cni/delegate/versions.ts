/** Agreeing on a CNI version with a delegate that does not know the one of the config. */

import { isJsonObject, type JsonObject, tryParseForeignJson } from "../../lib/json.ts";
import { parseResult, ResultError } from "../protocol/parse-result.ts";
import { toResultDocument } from "../protocol/print-result.ts";
import { DEFAULT_VERSION, isSupportedVersion, SUPPORTED_VERSIONS } from "../protocol/versions.ts";
import type { CniVersion } from "../protocol/versions.ts";
import { invoke } from "./invoke.ts";
import type { Delegate } from "./invoke.ts";

/**
 * The highest version that both know.
 *
 * @returns undefined when there is none, or the delegate does not answer VERSION
 */
export async function negotiateVersion(delegate: Delegate): Promise<CniVersion | undefined> {
  const answer = await invoke("VERSION", delegate, { cniVersion: versionOf(delegate.config) });
  if (!answer.ok) return undefined;
  const theirs = new Set(toSupportedVersions(answer.stdout));
  return SUPPORTED_VERSIONS.findLast((version) => theirs.has(version));
}

/** The CNI version of a network config. */
export function versionOf({ cniVersion }: JsonObject): CniVersion {
  return typeof cniVersion === "string" && isSupportedVersion(cniVersion) ? cniVersion : DEFAULT_VERSION;
}

/** The network config as one of another version, its `prevResult` included. */
export function toVersion(config: JsonObject, version: CniVersion): JsonObject {
  const { prevResult } = config;
  if (prevResult === undefined) return { ...config, cniVersion: version };
  try {
    return { ...config, cniVersion: version, prevResult: toResultDocument(parseResult(prevResult, versionOf(config)), version) };
  } catch (thrown) {
    // A `prevResult` that we cannot convert goes unchanged: the delegate may accept it, or says what is wrong.
    if (thrown instanceof ResultError) return { ...config, cniVersion: version };
    throw thrown;
  }
}

function toSupportedVersions(stdout: string): readonly unknown[] {
  const answer = tryParseForeignJson(stdout);
  const versions = isJsonObject(answer) ? answer["supportedVersions"] : undefined;
  return Array.isArray(versions) ? versions : [];
}
