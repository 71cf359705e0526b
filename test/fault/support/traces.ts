/** What an attachment leaves in the world, as the world's own tools show it: `ip -j`, `etcdctl`, the files of `host-local`. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { EtcdServer } from "../../support/etcd.ts";

/** One line per thing, so that two looks can be compared and a difference reads well. */
export type Traces = ReadonlySet<string>;

interface LinkJson {
  readonly ifname: string;
  readonly ifalias?: string;
  readonly addr_info?: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[];
}

interface RouteJson {
  readonly dst: string;
  readonly dev?: string;
  readonly protocol?: string;
}

/**
 * Interfaces but `lo`, their aliases and addresses, and the routes that the kernel did not make by itself; nothing for a namespace that is
 * gone.
 */
export async function tracesInNetns(place: string, netns: string): Promise<readonly string[]> {
  if (!existsSync(`/run/netns/${netns}`)) return [];
  const [addresses = [], routes = []] = await runIp(netns, "address show\nroute show table all\n");
  const traces: string[] = [];
  for (const { ifname, ifalias, addr_info = [] } of addresses as readonly LinkJson[]) {
    if (ifname === "lo") continue;
    traces.push(`${place}: interface ${ifname}${ifalias === undefined ? "" : ` of ${ifalias}`}`);
    const lasting = addr_info.filter(({ scope }) => scope === "global");
    traces.push(...lasting.map(({ local, prefixlen }) => `${place}: address ${local}/${prefixlen} on ${ifname}`));
  }
  for (const { dst, dev = "nothing", protocol } of routes as readonly RouteJson[]) {
    if (protocol !== "kernel") traces.push(`${place}: route ${dst} by ${dev}`);
  }
  return traces;
}

/** What `ip -j` prints for each of several commands. */
async function runIp(netns: string, commands: string): Promise<readonly (readonly unknown[])[]> {
  const child = Bun.spawn(["ip", "-n", netns, "-j", "-d", "-batch", "-"], { stdin: Buffer.from(commands), stdout: "pipe", stderr: "pipe" });
  const [status, stdout, stderr] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
  if (status !== 0) throw new Error(`ip -n ${netns}: ${stderr}`);
  const lines = stdout.split("\n").filter((line) => line.startsWith("["));
  return lines.map((line) => JSON.parse(line) as readonly unknown[]);
}

/** A block as it stands in etcd. */
export interface BlockJson {
  readonly cidr: string;
  readonly node: string;
  /** One row per address that is in use. */
  readonly allocations: readonly string[];
  /** Ordinals, as ranges, in the order of reuse. */
  readonly free: string;
}

/** All that stands under our prefix. */
export type EtcdContent = ReadonlyMap<string, string>;

/** Asks etcd itself, by its JSON gateway: a process for each of some thousand looks would take longer than all the rest. */
export async function readEtcd(endpoint: string): Promise<EtcdContent> {
  const range = { key: btoa("/netplug/"), range_end: btoa("/netplug0") };
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${endpoint}/v3/kv/range`, { method: "POST", body: JSON.stringify(range) });
    if (response.ok) return toContent(await response.text());
    // An election is under way after a test had it without a leader.
    if (tries === 20) throw new Error(`read etcd: ${response.status}: ${await response.text()}`);
    await Bun.sleep(100);
  }
}

/** The same by `etcdctl`, to be sure of the other. */
export async function readEtcdctl(etcd: EtcdServer): Promise<EtcdContent> {
  return toContent(await etcd.ctl(["get", "/netplug/", "--prefix", "-w", "json"]));
}

function toContent(json: string): EtcdContent {
  const { kvs = [] } = JSON.parse(json) as { readonly kvs?: readonly { readonly key: string; readonly value: string }[] };
  return new Map(kvs.map(({ key, value }) => [atob(key), Buffer.from(value, "base64").toString()]));
}

/** Keys and values that name a node. */
export function ofNode(content: EtcdContent, node: string): EtcdContent {
  return new Map([...content].filter(([key, value]) => key.includes(node) || value.includes(`"${node}"`)));
}

/** The blocks that stand there. */
export function blocksIn(stored: EtcdContent): readonly BlockJson[] {
  return [...stored].flatMap(([key, value]) => (key.includes("/blocks/") ? [JSON.parse(value) as BlockJson] : []));
}

/** Keys, and the owner of each address in use. */
export function tracesInEtcd(stored: EtcdContent): readonly string[] {
  const owners = blocksIn(stored).flatMap(({ cidr, allocations }) => allocations.map((row) => `etcd: address of ${cidr} in use by ${row}`));
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
