/** Stdin of a call: decoded, named, versioned, then every field. */

import { isName } from "../../lib/characters.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import type { NetworkConfig } from "./network-config.ts";
import { parseResult, ResultError } from "../protocol/parse-result.ts";
import type { CniResult } from "../protocol/result.ts";
import {
  type CniVersion,
  DEFAULT_VERSION,
  firstVersionOf,
  hasVerb,
  isSupportedVersion,
  isVerb,
  SUPPORTED_VERSIONS,
  type CniVerb,
  VERBS,
} from "../protocol/versions.ts";
import { FieldFault } from "./field.ts";
import type { Findings } from "./findings.ts";
import { readKeys } from "./read-table.ts";
import { toNetworkConfig } from "./to-network-config.ts";

/** What a call works with from here on. The document as it came is in `config.raw`: for delegates, and for what is looked up in their part. */
export interface ParsedConfig {
  readonly config: NetworkConfig;
  /** The command, now known to be a verb that the config's version has. */
  readonly verb: CniVerb;
  /** For the log: misspelt keys, and faults in keys that the verb does not need. */
  readonly warnings: readonly string[];
  /** DEL only: a fault in a key that it needs to find what is not on this host, told when its local work is done. */
  readonly fault: NetplugError | undefined;
}

/**
 * Reads the network config.
 *
 * @param command `CNI_COMMAND`: an unknown one is refused here, after name and version, as CNI orders it
 * @throws NetplugError cannotDecode, invalidConfig, incompatibleVersion, badEnvironment
 * @see CNI SPEC 1.1.0, section "Error"
 */
export function parseNetworkConfig(text: string, command: string): ParsedConfig {
  const document = decode(text);
  const version = readVersion(document);
  const name = readName(document);
  const cniVersion = requireVersion(version);
  const verb = requireVerb(command, cniVersion);
  const datastore = document["datastore_type"] === "kubernetes" ? "kubernetes" : "etcdv3";
  const findings: Findings = { verb, datastore, warnings: [], faults: [], unknownKeys: 0 };
  try {
    const values = readKeys(document, findings);
    const prevResult = readPrevResult(document, cniVersion, verb, findings.warnings);
    const config = toNetworkConfig({ name, cniVersion, prevResult, raw: document }, values, findings.warnings);
    requireForVerb(verb, config);
    const [fault] = findings.faults;
    return { config, verb, warnings: findings.warnings, fault: fault === undefined ? undefined : invalid(fault.message, fault) };
  } catch (thrown) {
    throw thrown instanceof FieldFault ? invalid(thrown.message, thrown) : thrown;
  }
}

function decode(text: string): JsonObject {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (cause) {
    throw new NetplugError("cannotDecode", `read network config: ${messageOf(cause)}`);
  }
  if (!isJsonObject(document))
    throw new NetplugError("cannotDecode", `read network config: got ${quoteValue(document)}, want a JSON object`);
  return document;
}

function readVersion(document: JsonObject): string {
  const version = document["cniVersion"] ?? "";
  if (typeof version !== "string") {
    throw new NetplugError("cannotDecode", `read network config: "cniVersion" is ${quoteValue(version)}, want a text`);
  }
  return version === "" ? DEFAULT_VERSION : version;
}

function readName(document: JsonObject): string {
  const name = document["name"];
  if (typeof name === "string" && isName(name, "_.-")) return name;
  throw invalid(`read "name": got ${quoteValue(name)}, want letters, digits, "_", "." and "-", a letter or digit first`);
}

function requireVersion(version: string): CniVersion {
  if (isSupportedVersion(version)) return version;
  throw new NetplugError("incompatibleVersion", `read "cniVersion": got ${quote(version)}, want one that is supported`, {
    details: `configured: ${quote(version)}; supported: ${SUPPORTED_VERSIONS.join(", ")}`,
  });
}

function requireVerb(command: string, version: CniVersion): CniVerb {
  if (!isVerb(command)) {
    throw new NetplugError("badEnvironment", `read CNI_COMMAND: got ${quote(command)}, want ${VERBS.slice(0, -1).join(", ")} or VERSION`);
  }
  if (hasVerb(version, command)) return command;
  throw new NetplugError("incompatibleVersion", `call ${command} in CNI ${version}: want ${firstVersionOf(command)} or later`, {
    details: `configured: ${quote(version)}; supported: ${SUPPORTED_VERSIONS.join(", ")}`,
  });
}

/** Only ADD and CHECK use `prevResult`; for the other verbs a broken one counts as absent. */
function readPrevResult(document: JsonObject, version: CniVersion, verb: CniVerb, warnings: string[]): CniResult | undefined {
  const previous = document["prevResult"] ?? undefined;
  if (previous === undefined) return undefined;
  try {
    return parseResult(previous, version);
  } catch (thrown) {
    if (!(thrown instanceof ResultError)) throw thrown;
    const message = `read "prevResult": ${thrown.message}`;
    if (verb === "ADD" || verb === "CHECK") throw invalid(message, thrown);
    warnings.push(`${message}; not needed here`);
    return undefined;
  }
}

function requireForVerb(verb: CniVerb, config: NetworkConfig): void {
  if (verb === "CHECK" && config.prevResult === undefined) {
    throw invalid('read "prevResult": got nothing, want the result of the ADD that is checked');
  }
  if (verb === "GC" && config.validAttachments === undefined && !isEmptyListOfLibcni(config.raw)) {
    throw invalid('read "cni.dev/valid-attachments": got nothing, want the list of attachments to keep');
  }
}

/** CRI-O's GC on a node without pods: Go writes a list that nothing was added to as null, and libcni under both names of the key. */
function isEmptyListOfLibcni(document: JsonObject): boolean {
  return document["cni.dev/valid-attachments"] === null && document["cni.dev/attachments"] === null;
}

function invalid(message: string, cause?: unknown): NetplugError {
  return new NetplugError("invalidConfig", message, { cause });
}
