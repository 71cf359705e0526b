/**
 * What the annotations of a pod and its namespace ask for, with what the network config says where they are silent: annotations rank
 * first, then the config, then the pools' own selectors.
 */

import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import type { NamedBy } from "../../ipam/request.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Address, Family } from "../../lib/ip/address.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import type { MacAddress } from "../../lib/mac-address.ts";
import { quote } from "../../lib/quote.ts";
import { readAddressesByPod, readPodAddresses, readUncheckedPodAddresses } from "./pod-addresses.ts";
import { type AnnotatedPod, type AnnotationSource, onNamespace, onPod, type RequestAnnotation, toSourceText } from "./sources.ts";
import { FAMILIES, readFamilies, readFloatingAddresses, readHardwareAddress, readPools, readSourcePrefixes } from "./values.ts";

/** What the network config says about addresses. */
export interface AnnotationConfig {
  /** `ipam.type`, and whether that is our own address management. */
  readonly ipam: { readonly type: string | undefined; readonly isOwn: boolean };
  readonly families: readonly Family[];
  /** Names or CIDRs by family; a family without an entry may use all pools. */
  readonly pools: Readonly<Partial<Record<Family, readonly string[]>>>;
  /** `feature_control`. */
  readonly featureControl: { readonly ipAddrsNoIpam: boolean; readonly floatingIPs: boolean };
}

/** What a pod asks for. Without an annotation, `families` and `pools` are those of the config. */
export interface PodRequest {
  /** For `AddressRequest.families`. */
  readonly families: readonly Family[];
  /** For `AddressRequest.pools`. */
  readonly pools: Readonly<Partial<Record<Family, readonly string[]>>>;
  /** For `AddressRequest.namedBy`: by annotations only. */
  readonly namedBy: NamedBy;
  /** For `AddressRequest.addresses`; ranks above every other explicit request. Empty: not asked for. */
  readonly addresses: readonly Address[];
  /** For an `UnmanagedRequest`: used as they are, without any address management. Empty: not asked for. */
  readonly addressesWithoutIpam: readonly Address[];
  /** Ranks above a MAC address of the runtime. */
  readonly mac: MacAddress | undefined;
  readonly floatingIPs: readonly Address[];
  /** Prefixes that the pod may send from besides its own addresses. */
  readonly allowedSourcePrefixes: readonly Prefix[];
}

/** Each names the pod's addresses. */
const ADDRESSES = ["ipAddrs", "ipAddrsByPod", "ipAddrsNoIpam"] as const satisfies readonly RequestAnnotation[];

type FixedAddresses = Pick<PodRequest, "addresses" | "addressesWithoutIpam">;

const POOLS = { 4: "ipv4pools", 6: "ipv6pools" } as const satisfies Record<Family, RequestAnnotation>;

/**
 * Reads all of them. Call it only where annotations are honoured.
 *
 * @throws {NetplugError} malformedRequest for a value that cannot be used, featureDisabled for one that the config does not allow
 */
export function readPodRequest(
  pod: AnnotatedPod,
  namespaceAnnotations: Readonly<Record<string, string>>,
  config: AnnotationConfig,
): PodRequest {
  const fromPodOrNamespace = <T>(annotation: RequestAnnotation, read: (source: AnnotationSource) => T | undefined): T | undefined => {
    for (const source of [onPod(pod, annotation), onNamespace(pod, namespaceAnnotations, annotation)]) {
      const value = source === undefined ? undefined : read(source);
      if (source === undefined || value === undefined) continue;
      requireOwnIpam(source, config);
      return value;
    }
    return undefined;
  };
  const pools: Partial<Record<Family, readonly string[]>> = { ...config.pools };
  const namedBy: { -readonly [What in keyof NamedBy]: NamedBy[What] } = {};
  for (const family of FAMILIES) {
    const named = fromPodOrNamespace(POOLS[family], readNamedPools);
    if (named === undefined) continue;
    pools[family] = named.names;
    namedBy[family] = named.namedBy;
  }
  const families = fromPodOrNamespace("ipFamilies", (source) => ({ listed: readFamilies(source), namedBy: toSourceText(source) }));
  if (families !== undefined) namedBy.families = families.namedBy;
  const fixed = findAddresses(pod);
  if (fixed !== undefined) namedBy.addresses = toSourceText(fixed);
  const mac = onPod(pod, "hwAddr");
  const prefixes = onPod(pod, "allowedSourcePrefixes");
  return {
    addresses: [],
    addressesWithoutIpam: [],
    ...(fixed !== undefined && readAddresses(fixed, pod, config)),
    families: families?.listed ?? config.families,
    pools,
    namedBy,
    mac: mac === undefined ? undefined : readHardwareAddress(mac),
    floatingIPs: readFloating(pod, config),
    allowedSourcePrefixes: prefixes === undefined ? [] : readSourcePrefixes(prefixes),
  };
}

/** @returns undefined for an empty list, which sets nothing */
function readNamedPools(source: AnnotationSource): { readonly names: readonly string[]; readonly namedBy: string } | undefined {
  const names = readPools(source);
  return names === undefined ? undefined : { names, namedBy: toSourceText(source) };
}

/** What names the pod's addresses. Two together are refused, before either is looked at. */
function findAddresses(pod: AnnotatedPod): AnnotationSource | undefined {
  const [first, second] = ADDRESSES.flatMap((annotation) => onPod(pod, annotation) ?? []);
  if (first === undefined || second === undefined) return first;
  throw new NetplugError(
    "malformedRequest",
    `read ${toSourceText(second)}: got ${quote(second.value)} together with "${ANNOTATION_PREFIX}${first.annotation}" ${quote(first.value)}, want one of the two`,
  );
}

function readAddresses(source: AnnotationSource, pod: AnnotatedPod, config: AnnotationConfig): Partial<FixedAddresses> {
  if (source.annotation !== "ipAddrsNoIpam") {
    const addresses = source.annotation === "ipAddrs" ? readPodAddresses(source) : readAddressesByPod(source, pod.name);
    requireOwnIpam(source, config);
    return { addresses };
  }
  const addressesWithoutIpam = readUncheckedPodAddresses(source);
  requireOwnIpam(source, config);
  if (!config.featureControl.ipAddrsNoIpam) throw disabled(source, "ip_addrs_no_ipam");
  return { addressesWithoutIpam };
}

function readFloating(pod: AnnotatedPod, config: AnnotationConfig): readonly Address[] {
  const source = onPod(pod, "floatingIPs");
  if (source === undefined) return [];
  const addresses = readFloatingAddresses(source);
  if (!config.featureControl.floatingIPs) throw disabled(source, "floating_ips");
  return addresses;
}

function requireOwnIpam(source: AnnotationSource, { ipam }: AnnotationConfig): void {
  if (ipam.isOwn) return;
  throw new NetplugError(
    "featureDisabled",
    `use ${toSourceText(source)}: got ${quote(source.value)}, and "ipam.type" is ${quote(ipam.type ?? "")}, want "netplug-ipam"; remove the annotation or change the type`,
  );
}

function disabled(source: AnnotationSource, feature: string): NetplugError {
  return new NetplugError(
    "featureDisabled",
    `use ${toSourceText(source)}: got ${quote(source.value)}, and the feature is off; set "feature_control.${feature}" to true in the network config, or remove the annotation`,
  );
}
