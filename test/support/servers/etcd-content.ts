/** For tests: what stands in etcd, by etcd's own account. */

import type { EtcdServer } from "./etcd.ts";

/** Values by their keys. */
export type EtcdContent = ReadonlyMap<string, string>;

/** Asks etcd's JSON gateway for all that is ours: a process for each of some thousand looks would take longer than all the rest. */
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

/** Asks `etcdctl`, for tests that look seldom, and to be sure of {@link readEtcd}. */
export async function readEtcdctl(etcd: EtcdServer, prefix = "/netplug/"): Promise<EtcdContent> {
  return toContent(await etcd.ctl(["get", prefix, "--prefix", "-w", "json"]));
}

function toContent(json: string): EtcdContent {
  const { kvs = [] } = JSON.parse(json) as { readonly kvs?: readonly { readonly key: string; readonly value: string }[] };
  return new Map(kvs.map(({ key, value }) => [decode(key), decode(value)]));
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
