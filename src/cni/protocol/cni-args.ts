/** `CNI_ARGS`: what the runtime says of the container, as `KEY=value;KEY=value`. */

import type { PodIdentity } from "../../endpoint/names.ts";
import { NetplugError } from "../../lib/errors.ts";
import { type Address, tryParseAddress } from "../../lib/ip/address.ts";
import { quote } from "../../lib/quote.ts";

/** The keys that we know; all others are ignored. */
export interface CniArgs {
  /** undefined: a container that no orchestrator names. */
  readonly pod: PodIdentity | undefined;
  /** The pod's sandbox container; tells nothing that `CNI_CONTAINERID` does not. */
  readonly infraContainerID: string | undefined;
  /** The one address that is asked for. */
  readonly ip: Address | undefined;
}

type Check = (value: string) => string | undefined;

/** What is wanted instead of a value that is not allowed; undefined when it is. */
const KNOWN: Readonly<Record<string, Check>> = {
  K8S_POD_NAME: findPodNameFault,
  K8S_POD_NAMESPACE: findNamespaceFault,
  K8S_POD_UID: findIdFault,
  K8S_POD_INFRA_CONTAINER_ID: findIdFault,
  IP: (value) => (tryParseAddress(value) === undefined ? "an IPv4 or IPv6 address without prefix length" : undefined),
};

/**
 * Reads `CNI_ARGS`. Empty pieces do not count; a known key without a value is absent.
 *
 * @throws NetplugError malformedRequest
 */
export function parseCniArgs(text: string): CniArgs {
  const values = new Map<string, string>();
  for (const piece of text.split(";")) {
    if (piece === "") continue;
    const [key = "", value, ...rest] = piece.split("=");
    if (value === undefined || rest.length > 0) {
      throw malformed(`got ${quote(piece)}, want key=value with exactly one "="`);
    }
    if (value !== "" && Object.hasOwn(KNOWN, key)) take(values, key, value);
  }
  return toCniArgs(values);
}

function take(values: Map<string, string>, key: string, value: string): void {
  const wanted = KNOWN[key]?.(value);
  if (wanted !== undefined) throw malformed(`${key} is ${quote(value)}, want ${wanted}`);
  const earlier = values.get(key);
  if (earlier !== undefined && earlier !== value) throw malformed(`${key} is ${quote(earlier)} and ${quote(value)}, want one of them`);
  values.set(key, value);
}

function toCniArgs(values: ReadonlyMap<string, string>): CniArgs {
  const name = values.get("K8S_POD_NAME");
  const namespace = values.get("K8S_POD_NAMESPACE");
  if ((name === undefined) !== (namespace === undefined)) {
    const [given, missing] = name === undefined ? ["K8S_POD_NAMESPACE", "K8S_POD_NAME"] : ["K8S_POD_NAME", "K8S_POD_NAMESPACE"];
    throw malformed(`got ${given} without ${missing}, want both or none`);
  }
  const uid = values.get("K8S_POD_UID");
  const ip = values.get("IP");
  return {
    pod: name === undefined || namespace === undefined ? undefined : { namespace, name, ...(uid !== undefined && { uid }) },
    infraContainerID: values.get("K8S_POD_INFRA_CONTAINER_ID"),
    ip: ip === undefined ? undefined : tryParseAddress(ip),
  };
}

function malformed(what: string): NetplugError {
  return new NetplugError("malformedRequest", `read CNI_ARGS: ${what}`);
}

const DNS_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const DNS_NAME = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);
const ONE_DNS_LABEL = new RegExp(`^${DNS_LABEL}$`);

/** A Kubernetes pod is named by an RFC 1123 subdomain. */
function findPodNameFault(text: string): string | undefined {
  return text.length <= 253 && DNS_NAME.test(text) ? undefined : "a DNS name in lower case of at most 253 characters";
}

/** A Kubernetes namespace is named by an RFC 1123 label. */
export function findNamespaceFault(text: string): string | undefined {
  return text.length <= 63 && ONE_DNS_LABEL.test(text) ? undefined : "a DNS label in lower case of at most 63 characters";
}

/** An opaque identifier that becomes part of records and messages. */
function findIdFault(text: string): string | undefined {
  return /^[a-zA-Z0-9][a-zA-Z0-9_.:-]{0,252}$/.test(text) ? undefined : 'at most 253 letters, digits, "_", ".", ":" and "-"';
}
