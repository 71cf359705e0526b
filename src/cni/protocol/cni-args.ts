/** `CNI_ARGS`: what the runtime says of the container, as `KEY=value;KEY=value`. */

import type { PodIdentity } from "../../endpoint/names.ts";
import { POD_MAC_FORM, tryParsePodMac } from "../../endpoint/pod-link.ts";
import { isDnsLabel, isDnsName, isName } from "../../lib/characters.ts";
import { NetplugError } from "../../lib/errors.ts";
import { type Address, tryParseAddress } from "../../lib/ip/address.ts";
import type { MacAddress } from "../../lib/mac-address.ts";
import { quote } from "../../lib/quote.ts";
import type { CniEnvironment } from "./environment.ts";

/** The keys that we know; all others are ignored. */
export interface CniArgs {
  /** undefined: a container that no orchestrator names. */
  readonly pod: PodIdentity | undefined;
  /** The one address that is asked for. */
  readonly ip: Address | undefined;
  readonly mac: MacAddress | undefined;
}

/** The keys that we know. */
type Values = {
  K8S_POD_NAME?: string;
  K8S_POD_NAMESPACE?: string;
  K8S_POD_UID?: string;
  IP?: string;
  MAC?: string;
};

/**
 * Reads `CNI_ARGS`. Empty pieces do not count; a known key without a value is absent.
 *
 * @throws NetplugError malformedRequest
 */
export function parseCniArgs(text: string, containerID: string): CniArgs {
  const values: Values = {};
  const pieces = text.split(";");
  const isContainer = isOfPodman(pieces, containerID);
  for (const piece of pieces) {
    if (piece === "") continue;
    const at = piece.indexOf("=");
    if (at < 0 || piece.includes("=", at + 1)) throw malformed(`got ${quote(piece)}, want key=value with exactly one "="`);
    const key = piece.slice(0, at);
    const value = piece.slice(at + 1);
    if (value === "" || !isKnown(key) || (isContainer && key === "K8S_POD_NAME")) continue;
    take(values, key, value);
  }
  return toCniArgs(values);
}

/** As {@link parseCniArgs}, but args that cannot be read are empty, with the reason in `fault`: a DEL can do most of its work without them. */
export function readCniArgs({ args, containerID }: Pick<CniEnvironment, "args" | "containerID">): {
  readonly args: CniArgs;
  readonly fault: NetplugError | undefined;
} {
  try {
    return { args: parseCniArgs(args, containerID), fault: undefined };
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    return { args: { pod: undefined, ip: undefined, mac: undefined }, fault: thrown };
  }
}

function isKnown(key: string): key is keyof Values {
  return key === "K8S_POD_NAME" || key === "K8S_POD_NAMESPACE" || key === "K8S_POD_UID" || key === "IP" || key === "MAC";
}

/**
 * Whether `K8S_POD_NAME` is the name of a container and not of a pod. Podman puts every container's name there, often one that no pod could have
 * (`happy_pike`); builds by Podman and Buildah put the container's ID there (`buildah-buildah496399553`). They set no other key of Kubernetes;
 * runtimes with pods do. The test is narrow, so that a pod whose namespace is missing is not taken for a container.
 */
function isOfPodman([first, second = "", ...more]: readonly string[], containerID: string): boolean {
  const [key, name] = second.split("=");
  const isItsName = key === "K8S_POD_NAME" && (name === containerID || /^[\da-f]{64}$/.test(containerID));
  return isItsName && first === "IgnoreUnknown=1" && !more.some((piece) => piece.startsWith("K8S_"));
}

/** What is wanted instead of a value that is not allowed; undefined when it is. */
function findFault(key: keyof Values, value: string): string | undefined {
  if (key === "K8S_POD_NAME") return findPodNameFault(value);
  if (key === "K8S_POD_NAMESPACE") return findNamespaceFault(value);
  if (key === "IP") return tryParseAddress(value) === undefined ? "an IPv4 or IPv6 address without prefix length" : undefined;
  if (key === "MAC") return tryParsePodMac(value) === undefined ? POD_MAC_FORM : undefined;
  return findIdFault(value);
}

function take(values: Values, key: keyof Values, value: string): void {
  const wanted = findFault(key, value);
  if (wanted !== undefined) throw malformed(`${key} is ${quote(value)}, want ${wanted}`);
  const earlier = values[key];
  if (earlier !== undefined && earlier !== value) throw malformed(`${key} is ${quote(earlier)} and ${quote(value)}, want one of them`);
  values[key] = value;
}

function toCniArgs({ K8S_POD_NAME: name, K8S_POD_NAMESPACE: namespace, K8S_POD_UID: uid, IP, MAC }: Values): CniArgs {
  if ((name === undefined) !== (namespace === undefined)) {
    const [given, missing] = name === undefined ? ["K8S_POD_NAMESPACE", "K8S_POD_NAME"] : ["K8S_POD_NAME", "K8S_POD_NAMESPACE"];
    throw malformed(`got ${given} without ${missing}, want both or none`);
  }
  return {
    pod: name === undefined || namespace === undefined ? undefined : { namespace, name, ...(uid !== undefined && { uid }) },
    ip: IP === undefined ? undefined : tryParseAddress(IP),
    mac: MAC === undefined ? undefined : tryParsePodMac(MAC),
  };
}

function malformed(what: string): NetplugError {
  return new NetplugError("malformedRequest", `read CNI_ARGS: ${what}`);
}

const MAX_NAME_LENGTH = 253;

/** A Kubernetes pod is named by an RFC 1123 subdomain. */
function findPodNameFault(text: string): string | undefined {
  return isDnsName(text) ? undefined : `a DNS name in lower case of at most ${MAX_NAME_LENGTH} characters`;
}

/** A Kubernetes namespace is named by an RFC 1123 label. */
export function findNamespaceFault(text: string): string | undefined {
  return isDnsLabel(text) ? undefined : "a DNS label in lower case of at most 63 characters";
}

/** An opaque identifier that becomes part of records and messages. */
function findIdFault(text: string): string | undefined {
  return text.length <= MAX_NAME_LENGTH && isName(text, "_.:-") ? undefined : 'at most 253 letters, digits, "_", ".", ":" and "-"';
}
