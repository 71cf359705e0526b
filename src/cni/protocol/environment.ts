/** The environment that a runtime calls with. */

import { hasControlCharacter, isName } from "../../lib/characters.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";

/** Checked as far as it can be without looking at the machine. */
export interface CniEnvironment {
  /** `CNI_COMMAND`. Which verb it is, if any, is known only with the network config: see `parseNetworkConfig`. */
  readonly command: string;
  /** `CNI_CONTAINERID`; "" for verbs that have none. */
  readonly containerID: string;
  /** `CNI_NETNS`: path of the pod's network namespace; undefined when not given, which DEL allows. */
  readonly netns: string | undefined;
  /** `CNI_IFNAME`; "" for verbs that have none. */
  readonly ifName: string;
  /** `CNI_ARGS` as it came; see `parseCniArgs`. */
  readonly args: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables that each verb requires. An unknown verb requires none here: it is refused after the network config is read.
 *
 * @see CNI SPEC 1.1.0, section "CNI operations"
 */
const REQUIRED = {
  ADD: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
  DEL: ["CNI_CONTAINERID", "CNI_IFNAME"],
  CHECK: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
  GC: ["CNI_PATH"],
} as const;

/**
 * Reads the variables of CNI. One that is set and invalid is told first, then all that are missing, together.
 *
 * @throws NetplugError badEnvironment
 */
export function readEnvironment(env: Environment): CniEnvironment {
  const command = env["CNI_COMMAND"] ?? "";
  const containerID = env["CNI_CONTAINERID"] ?? "";
  const ifName = env["CNI_IFNAME"] ?? "";
  const netns = env["CNI_NETNS"] ?? "";
  refuse("CNI_CONTAINERID", containerID, findContainerIdFault);
  refuse("CNI_NETNS", netns, findNetnsFault);
  refuse("CNI_IFNAME", ifName, findIfNameFault);
  const missing = findMissing(env, command);
  if (missing.length > 0) throw new NetplugError("badEnvironment", `read environment: missing ${missing.join(", ")}`);
  return {
    command,
    containerID,
    netns: netns === "" ? undefined : netns,
    ifName,
    args: env["CNI_ARGS"] ?? "",
  };
}

function findMissing(env: Environment, command: string): readonly string[] {
  if (command === "") return ["CNI_COMMAND"];
  const missing: string[] = [];
  if (command === "ADD" || command === "DEL" || command === "CHECK" || command === "GC") {
    for (const name of REQUIRED[command]) if ((env[name] ?? "") === "") missing.push(name);
  }
  return missing;
}

function refuse(variable: string, value: string, findFault: (value: string) => string | undefined): void {
  const wanted = value === "" ? undefined : findFault(value);
  if (wanted !== undefined) throw new NetplugError("badEnvironment", `read ${variable}: got ${quote(value)}, want ${wanted}`);
}

/** What is wanted instead of a text that is no container ID; undefined when it is one. */
export function findContainerIdFault(text: string): string | undefined {
  return isName(text, "_.-") ? undefined : 'letters, digits, "_", "." and "-", a letter or digit first';
}

/** Longest interface name, without the kernel's final zero (IFNAMSIZ is 16). */
const MAX_IFNAME_LENGTH = 15;

/** Names of folders among the kernel's settings, which no interface can have. */
const RESERVED_IFNAMES = [".", "..", "all", "default"];

/**
 * What is wanted instead of a text that cannot name an interface; undefined when it can. Stricter than CNI: only characters that a workload
 * endpoint's name may have, and on Kubernetes the key of an annotation; so no `%`, because the kernel takes `eth%d` as a template for another
 * name.
 */
export function findIfNameFault(text: string): string | undefined {
  if (RESERVED_IFNAMES.includes(text)) return "a name that the kernel does not reserve";
  if (text === "" || text.length > MAX_IFNAME_LENGTH) return `1..${MAX_IFNAME_LENGTH} characters`;
  // The letter before it allows every character at the beginning.
  return isName(`a${text}`, "_.-") ? undefined : 'letters, digits, "_", "." and "-"';
}

function findNetnsFault(text: string): string | undefined {
  return text.startsWith("/") && !hasControlCharacter(text) ? undefined : "an absolute path";
}
