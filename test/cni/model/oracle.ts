/** What is really there, as others than us see it: `ip -j`, etcd's own answers, and the raw objects of the API server. */

import type { ApiServer } from "../../support/servers/api-server.ts";
import { addressesInUseOf, type BlockRecord } from "../../support/servers/block-record.ts";
import { readEtcd } from "../../support/servers/etcd-content.ts";
import { snapshotNetwork } from "../../support/node/network-snapshot.ts";
import { readPodRecords } from "../../support/servers/pod-records.ts";
import { canonical, withoutLength } from "../../support/ip-arithmetic.ts";

/** Who holds an address, as far as the model compares. */
export interface Owner {
  readonly network: string;
  readonly containerID: string;
  readonly ifName: string;
  readonly node: string;
}

export interface BlockView {
  readonly cidr: string;
  readonly node: string;
  /** By address. */
  readonly allocated: ReadonlyMap<string, Owner>;
}

/** What a workload endpoint says. */
export interface RecordView {
  readonly containerID: string;
  readonly ifName: string;
  readonly addresses: readonly string[];
}

/** All that the model compares of a datastore, at one moment. */
export interface Stored {
  readonly blocks: readonly BlockView[];
  /** Endpoints that have addresses. */
  readonly records: readonly RecordView[];
  /** By name: whether it is disabled. */
  readonly pools: ReadonlyMap<string, boolean>;
}

interface PoolRecord {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly disabled?: boolean };
}

interface BlockObject {
  readonly spec: { readonly allocations: string };
}

function toPools(records: readonly PoolRecord[]): Stored["pools"] {
  return new Map(records.map(({ metadata, spec }) => [metadata.name, spec.disabled === true]));
}

/** Resources and blocks as etcd's values. */
export async function readStoredInEtcd(endpoint: string): Promise<Stored> {
  const content = await readEtcd(endpoint);
  const under = (prefix: string): readonly string[] => [...content].flatMap(([key, value]) => (key.startsWith(prefix) ? [value] : []));
  return {
    pools: toPools(under("/netplug/v3/ippools/").map((text) => JSON.parse(text) as PoolRecord)),
    blocks: under("/netplug/ipam/blocks/").map(toBlockView),
    records: under("/netplug/v3/workloadendpoints/").map((text) => {
      const { spec } = JSON.parse(text) as { readonly spec: { containerID: string; endpoint: string; ipNetworks: readonly string[] } };
      return { containerID: spec.containerID, ifName: spec.endpoint, addresses: spec.ipNetworks.map(withoutLength) };
    }),
  };
}

/** Blocks as objects of the API server, and what pods are annotated with. */
export async function readStoredInKubernetes(api: ApiServer): Promise<Stored> {
  const [pools, blocks, records] = await Promise.all([
    api.mustRequest<{ readonly items: readonly PoolRecord[] }>("GET", "/apis/netplug.io/v3/ippools"),
    api.mustRequest<{ readonly items: readonly BlockObject[] }>("GET", "/apis/netplug.io/v3/ipamblocks"),
    readPodRecords(api),
  ]);
  return {
    pools: toPools(pools.items),
    blocks: blocks.items.map(({ spec }) => toBlockView(spec.allocations)),
    records: records.map(({ containerID, ifName, addresses }) => ({ containerID, ifName, addresses: addresses.map(withoutLength) })),
  };
}

/** The rows of a record are the owners of the addresses in use, in their order. */
function toBlockView(text: string): BlockView {
  const record = JSON.parse(text) as BlockRecord;
  const { cidr, node, groups, allocations } = record;
  const taken = addressesInUseOf(record);
  if (taken.length !== allocations.length)
    throw new Error(`block ${cidr}: ${allocations.length} owners for ${taken.length} addresses: ${text}`);
  const allocated = taken.map((address, i): [string, Owner] => {
    const row = allocations[i] ?? "";
    const [id = "", group = ""] = typeof row === "string" ? row.split(" ") : [row[2], row[0].toString(36)];
    const [network = "", ifName = "", onNode = ""] = groups[Number.parseInt(group, 36)] ?? [];
    const containerID = typeof row === "string" ? Buffer.from(id.slice(0, 43), "base64url").toString("hex") : id;
    return [address, { network, containerID, ifName, node: onNode }];
  });
  return { cidr, node, allocated: new Map(allocated) };
}

/** The interfaces of a network namespace but `lo`, and what leads to them. */
export interface KernelView {
  readonly links: readonly { readonly name: string; readonly alias: string | undefined; readonly addresses: readonly string[] }[];
  /** Addresses to the interface that a route of their own leads to. */
  readonly routes: ReadonlyMap<string, string>;
}

/** @param netns its name; undefined: the one in which the test is @returns undefined when it is gone */
export async function readKernel(netns?: string): Promise<KernelView | undefined> {
  const snapshot = await snapshotNetwork(netns);
  if (snapshot === undefined) return undefined;
  const links = snapshot.links.map((link) => ({ ...link, addresses: link.addresses.map(withoutLength) }));
  const own = snapshot.routes.filter(({ dst }) => /^[0-9a-f.:]+$/.test(dst));
  return { links, routes: new Map(own.map(({ dst, dev = "" }) => [canonical(dst), dev])) };
}
