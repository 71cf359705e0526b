/** The environment that a runtime calls with. */

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
  /** `CNI_PATH` as it came: folders of plugins, joined by `:`. */
  readonly path: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What must be there for each verb. Of an unknown one nothing is known, and it is refused after the network config is read.
 *
 * @see CNI SPEC 1.1.0, section "CNI operations"
 */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ADD: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
  DEL: ["CNI_CONTAINERID", "CNI_IFNAME"],
  CHECK: ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"],
  GC: ["CNI_PATH"],
};

/**
 * Reads the variables of CNI. One that is set and invalid is told first, then all that are missing, together.
 *
 * @throws NetplugError badEnvironment
 */
export function readEnvironment(env: Environment): CniEnvironment {
  const text = (name: string): string => env[name] ?? "";
  const command = text("CNI_COMMAND");
  const containerID = text("CNI_CONTAINERID");
  const ifName = text("CNI_IFNAME");
  const netns = text("CNI_NETNS");
  refuse("CNI_CONTAINERID", containerID, findContainerIdFault);
  refuse("CNI_NETNS", netns, findNetnsFault);
  refuse("CNI_IFNAME", ifName, findIfNameFault);
  const required = Object.hasOwn(REQUIRED, command) ? (REQUIRED[command] ?? []) : [];
  const missing = ["CNI_COMMAND", ...required].filter((name) => text(name) === "");
  if (missing.length > 0) {
    throw new NetplugError("badEnvironment", `read environment: missing ${missing.join(", ")}`);
  }
  return { command, containerID, netns: netns === "" ? undefined : netns, ifName, args: text("CNI_ARGS"), path: text("CNI_PATH") };
}

function refuse(variable: string, value: string, findFault: (value: string) => string | undefined): void {
  const wanted = value === "" ? undefined : findFault(value);
  if (wanted !== undefined) throw new NetplugError("badEnvironment", `read ${variable}: got ${quote(value)}, want ${wanted}`);
}

/** What is wanted instead of a text that is no container ID; undefined when it is one. */
export function findContainerIdFault(text: string): string | undefined {
  return /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(text) ? undefined : 'letters, digits, "_", "." and "-", a letter or digit first';
}

/** Bytes of an interface's name, without the kernel's final zero (IFNAMSIZ is 16). */
const MAX_IFNAME_BYTES = 15;

/**
 * What is wanted instead of a text that cannot name an interface; undefined when it can. `%` is refused besides what CNI refuses:
 * the kernel takes `eth%d` as a template and makes another name of it.
 */
export function findIfNameFault(text: string): string | undefined {
  if (text === "." || text === "..") return "the name of an interface";
  if (/[\s/:%\p{Cc}]/u.test(text)) return 'no white space, control character, "/", ":" or "%"';
  if (text === "" || new TextEncoder().encode(text).length > MAX_IFNAME_BYTES) return `1..${MAX_IFNAME_BYTES} bytes`;
  return undefined;
}

function findNetnsFault(text: string): string | undefined {
  return /^\/[^\p{Cc}]*$/u.test(text) ? undefined : "an absolute path";
}
