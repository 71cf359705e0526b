/** Owners in a block's record: what many of them share is written once, what is hexadecimal is packed. */

import { joinEndpointName } from "./endpoint-names.ts";
import type { AllocationOwner } from "./ipam-block.ts";

/** What owners have in common. */
export interface OwnerTables {
  /** Network, interface name, node, and how the endpoint's name follows from the rest. */
  readonly groups: readonly OwnerGroup[];
  /** Namespaces and beginnings of pod names. */
  readonly words: readonly string[];
}

/** What all owners of a group share; a row names its group by its index. */
export type OwnerGroup = readonly [network: string, ifName: string, node: string, endpoint: EndpointForm];

/**
 * How the endpoint's name is written: there is none; it is `<node>-k8s-<pod>-<ifname>`; it is
 * `<node>-cni-<containerID>-<ifname>`; or the row says it.
 */
export const ENDPOINT_FORMS = ["none", "pod", "container", "given"] as const;

/** How a group's endpoint names follow from the rest. */
export type EndpointForm = (typeof ENDPOINT_FORMS)[number];

/** One owner: packed text in the usual case, else a list of its fields. */
export type OwnerRow = string | PlainRow;

type PlainRow = readonly [
  group: number,
  seconds: number,
  containerID: string,
  namespace: string | null,
  pod: string | null,
  podUID: string | null,
  endpoint: string | null,
];

/** A 64-digit container ID is 32 bytes, a UUID 16: together 64 characters of base64url, alone 43. */
const PACKED_ID = /^[\w-]{43}(?:[\w-]{21})?$/;
const CONTAINER_ID = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const PACKED_ROW = /^([\w-]+) ([0-9a-z]+) (-|[0-9a-z]+) ([0-9a-z]+) (?:-|([0-9a-z]+|\.) ([^]*))$/;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

/** Collects the shared words of owners while their rows are written. */
export interface OwnerWriter {
  readonly tables: OwnerTables;
  /** @param seconds since the base of the record */
  write(owner: AllocationOwner, seconds: number): OwnerRow;
}

/** @param owners all that will be written: what several names have in common is written once */
export function createOwnerWriter(owners: readonly AllocationOwner[]): OwnerWriter {
  const groups: OwnerGroup[] = [];
  const groupIndex = new Map<string, number>();
  const words: string[] = [];
  const wordIndex = new Map<string, number>();
  const beginnings = sharedBeginnings(owners);
  const indexOfWord = (word: string): number => indexIn(wordIndex, word, () => words.push(word));
  return {
    tables: { groups, words },
    write(owner, seconds) {
      const form = endpointFormOf(owner);
      const group: OwnerGroup = [owner.network, owner.ifName, owner.node, form];
      const index = indexIn(groupIndex, JSON.stringify(group), () => groups.push(group));
      const id = form === "given" ? undefined : packId(owner);
      if (id === undefined) return toPlainRow(owner, index, seconds, form);
      const namespace = owner.namespace === undefined ? "-" : indexOfWord(owner.namespace).toString(36);
      const head = `${id} ${index.toString(36)} ${namespace} ${seconds.toString(36)}`;
      if (owner.pod === undefined) return `${head} -`;
      const beginning = beginnings.get(owner.pod);
      if (beginning === undefined) return `${head} . ${owner.pod}`;
      return `${head} ${indexOfWord(beginning).toString(36)} ${owner.pod.slice(beginning.length)}`;
    },
  };
}

/** @returns undefined for a row that {@link createOwnerWriter} did not write */
export function readOwnerRow(row: unknown, tables: OwnerTables): { owner: AllocationOwner; seconds: number } | undefined {
  if (typeof row === "string") return readPackedRow(row, tables);
  return Array.isArray(row) ? readPlainRow(row, tables) : undefined;
}

function readPackedRow(row: string, { groups, words }: OwnerTables): { owner: AllocationOwner; seconds: number } | undefined {
  const [, id = "", groupText = "", namespaceText = "", secondsText = "", beginningText, rest = ""] = PACKED_ROW.exec(row) ?? [];
  const group = groups[Number.parseInt(groupText, 36)];
  if (group === undefined || !PACKED_ID.test(id)) return undefined;
  const namespace = namespaceText === "-" ? undefined : words[Number.parseInt(namespaceText, 36)];
  if (namespace === undefined && namespaceText !== "-") return undefined;
  const beginning = beginningText === "." ? "" : words[Number.parseInt(beginningText ?? "", 36)];
  if (beginning === undefined && beginningText !== undefined) return undefined;
  const pod = beginningText === undefined ? undefined : `${beginning}${rest}`;
  const { containerID, podUID } = unpackId(id);
  const [network, ifName, node, form] = group;
  const endpoint = toEndpoint(form, node, form === "pod" ? pod : containerID, ifName);
  if (form === "given" || (form === "pod" && pod === undefined)) return undefined;
  const owner = {
    network,
    containerID,
    ifName,
    node,
    ...(pod === undefined ? {} : { pod }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(podUID === undefined ? {} : { podUID }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
  return { owner, seconds: Number.parseInt(secondsText, 36) };
}

function readPlainRow(row: readonly unknown[], { groups }: OwnerTables): { owner: AllocationOwner; seconds: number } | undefined {
  const [groupIndex, seconds, containerID, namespace, pod, podUID, given] = row;
  const group = typeof groupIndex === "number" ? groups[groupIndex] : undefined;
  if (group === undefined || typeof seconds !== "number" || typeof containerID !== "string" || row.length !== 7) return undefined;
  if (!isTextOrNull(namespace) || !isTextOrNull(pod) || !isTextOrNull(podUID) || !isTextOrNull(given)) return undefined;
  const [network, ifName, node, form] = group;
  const endpoint = form === "given" ? given : toEndpoint(form, node, form === "pod" ? (pod ?? undefined) : containerID, ifName);
  const owner = {
    network,
    containerID,
    ifName,
    node,
    ...(pod === null ? {} : { pod }),
    ...(namespace === null ? {} : { namespace }),
    ...(podUID === null ? {} : { podUID }),
    ...(endpoint === undefined || endpoint === null ? {} : { endpoint }),
  };
  return { owner, seconds };
}

function toPlainRow(owner: AllocationOwner, group: number, seconds: number, form: EndpointForm): PlainRow {
  const { containerID, namespace = null, pod = null, podUID = null, endpoint = null } = owner;
  return [group, seconds, containerID, namespace, pod, podUID, form === "given" ? endpoint : null];
}

function endpointFormOf({ endpoint, node, pod, containerID, ifName }: AllocationOwner): EndpointForm {
  if (endpoint === undefined) return "none";
  if (pod !== undefined && endpoint === toEndpoint("pod", node, pod, ifName)) return "pod";
  return endpoint === toEndpoint("container", node, containerID, ifName) ? "container" : "given";
}

/** Only shortens the record: an endpoint called otherwise is written in full. */
function toEndpoint(form: EndpointForm, node: string, workload: string | undefined, ifName: string): string | undefined {
  if (form === "none" || form === "given" || workload === undefined) return undefined;
  return joinEndpointName(node, form === "pod" ? "k8s" : "cni", workload, ifName);
}

function packId({ containerID, podUID }: AllocationOwner): string | undefined {
  if (!CONTAINER_ID.test(containerID) || (podUID !== undefined && !UUID.test(podUID))) return undefined;
  return Uint8Array.fromHex(containerID + (podUID ?? "").replaceAll("-", "")).toBase64(BASE64URL);
}

function unpackId(packed: string): { containerID: string; podUID: string | undefined } {
  const hex = Uint8Array.fromBase64(packed, BASE64URL).toHex();
  const uid = hex.slice(64);
  if (uid === "") return { containerID: hex, podUID: undefined };
  const podUID = [uid.slice(0, 8), uid.slice(8, 12), uid.slice(12, 16), uid.slice(16, 20), uid.slice(20)].join("-");
  return { containerID: hex.slice(0, 64), podUID };
}

/** For each pod name the longest beginning, up to a `-`, that another pod's name has too. */
function sharedBeginnings(owners: readonly AllocationOwner[]): ReadonlyMap<string, string> {
  const pods = new Set<string>();
  for (const { pod } of owners) if (pod !== undefined) pods.add(pod);
  const users = new Map<string, number>();
  for (const pod of pods) for (const beginning of beginningsOf(pod)) users.set(beginning, (users.get(beginning) ?? 0) + 1);
  const shared = new Map<string, string>();
  for (const pod of pods) {
    const beginning = beginningsOf(pod).find((candidate) => (users.get(candidate) ?? 0) > 1);
    if (beginning !== undefined) shared.set(pod, beginning);
  }
  return shared;
}

/** Longest first. */
function beginningsOf(pod: string): readonly string[] {
  const beginnings: string[] = [];
  for (let dash = pod.lastIndexOf("-"); dash > 1; dash = pod.lastIndexOf("-", dash - 1)) beginnings.push(pod.slice(0, dash + 1));
  return beginnings;
}

function indexIn(index: Map<string, number>, key: string, add: () => number): number {
  const known = index.get(key);
  if (known !== undefined) return known;
  const added = add() - 1;
  index.set(key, added);
  return added;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
