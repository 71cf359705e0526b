/** What an attachment leaves in the world, as the world's own tools show it: `ip -j`, `etcdctl`, the files of `host-local`. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BlockRecord } from "../../support/servers/block-record.ts";
import type { EtcdContent } from "../../support/servers/etcd-content.ts";
import { snapshotNetwork } from "../../support/node/network-snapshot.ts";

/** One line per thing, so that two looks can be compared and a difference reads well. */
export type Traces = ReadonlySet<string>;

/**
 * Interfaces but `lo`, their aliases and addresses, and the routes that the kernel did not make by itself; nothing for a namespace that is
 * gone.
 */
export async function tracesInNetns(place: string, netns: string): Promise<readonly string[]> {
  const { links = [], routes = [] } = (await snapshotNetwork(netns)) ?? {};
  const ofLinks = links.flatMap(({ name, alias, addresses }) => [
    `${place}: interface ${name}${alias === undefined ? "" : ` of ${alias}`}`,
    ...addresses.map((address) => `${place}: address ${address} on ${name}`),
  ]);
  return [...ofLinks, ...routes.map(({ dst, dev = "nothing" }) => `${place}: route ${dst} by ${dev}`)];
}

/** Keys and values that name a node. */
export function ofNode(content: EtcdContent, node: string): EtcdContent {
  return new Map([...content].filter(([key, value]) => key.includes(node) || value.includes(`"${node}"`)));
}

/** The blocks that stand there. */
export function blocksIn(stored: EtcdContent): readonly BlockRecord[] {
  return [...stored].flatMap(([key, value]) => (key.includes("/blocks/") ? [JSON.parse(value) as BlockRecord] : []));
}

/** Keys, and the owner of each address in use. */
export function tracesInEtcd(stored: EtcdContent): readonly string[] {
  const owners = blocksIn(stored).flatMap(({ cidr, allocations }) =>
    allocations.map((row) => `etcd: address of ${cidr} in use by ${String(row)}`),
  );
  return [...[...stored.keys()].map((key) => `etcd: key ${key}`), ...owners];
}

/** What `host-local` holds for its containers. */
export function tracesOfHostLocal(dataDir: string): readonly string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir, { recursive: true, encoding: "utf8" })
    .filter((path) => /[.:]/.test(path) && !path.includes("last_reserved"))
    .map((path) => `host-local: ${path} for ${readFileSync(join(dataDir, path), "utf8").replace(/\s+/g, " ")}`);
}

/** What is there now and was not, and what was there and is not; empty when nothing changed. */
export function compareTraces(before: Traces, now: Traces): readonly string[] {
  const left = [...now].filter((trace) => !before.has(trace)).map((trace) => `left: ${trace}`);
  return [...left, ...[...before].filter((trace) => !now.has(trace)).map((trace) => `lost: ${trace}`)];
}
