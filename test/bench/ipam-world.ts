/** What the benchmarks of the allocation core share: a datastore with a pool, requests as a node has them, and blocks that are full. */

import { openEtcd } from "../datastore/open-etcd.ts";
import type { Block } from "../../src/api/ipam-block.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { initialise } from "../../src/datastore/initialise.ts";
import { blockSize, newBlock, take } from "../../src/ipam/block.ts";
import type { AddressRequest } from "../../src/ipam/request.ts";
import type { TransactPorts } from "../../src/ipam/transact/transact.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startDeadline } from "../../src/lib/deadline.ts";
import type { Prefix } from "../../src/lib/ip/prefix.ts";
import { systemRandom } from "../../src/lib/random.ts";

/** An initialised datastore with one pool. */
export async function prepare(endpoint: string): Promise<void> {
  const datastore = open(endpoint);
  await initialise(datastore, { clock: systemClock, random: systemRandom, version: "v3.31.0" });
  await putPool(datastore, "default", "10.65.0.0/16");
  datastore.close();
}

export async function putPool(datastore: Datastore, name: string, cidr: string): Promise<void> {
  const metadata = { name, creationTimestamp: new Date(systemClock.now()).toISOString() };
  await datastore.commit([{ op: "create", resource: { apiVersion: "netplug.io/v3", kind: "IPPool", metadata, spec: { cidr } } }]);
}

/** A connection of its own. */
export function open(endpoint: string): Datastore {
  return openEtcd({ endpoints: [endpoint] });
}

/** With a minute from now. */
export function portsOf(datastore: Datastore): TransactPorts {
  return { datastore, clock: systemClock, random: systemRandom, deadline: startDeadline(systemClock, 60_000) };
}

/** As a kubelet's container runtime would ask for a pod. */
export function requestOf(node: string, name: string): AddressRequest {
  const containerID = new Bun.CryptoHasher("sha256").update(`${node}/${name}`).digest("hex");
  const owner = {
    network: "k8s-pod-network",
    containerID,
    ifName: "eth0",
    node,
    pod: `web-frontend-7d9f8c6b5-${containerID.slice(0, 5)}`,
    namespace: "default",
    podUID: containerID.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
    endpoint: `${node.replaceAll("-", "--")}-k8s-web--frontend--7d9f8c6b5--${containerID.slice(0, 5)}-eth0`,
  };
  return { owner, use: "Workload", families: [4], pools: {}, addresses: [], namespaceLabels: {}, podLabels: {} };
}

/** A block in which every address belongs to a pod of its node. */
export function fullBlock(cidr: Prefix, node: string): Block {
  let block = newBlock(cidr, node, 1_760_000_000);
  for (let ordinal = 0; ordinal < blockSize(cidr); ordinal++) {
    block = take(block, ordinal, requestOf(node, `${cidr.base}-${ordinal}`).owner, 1_760_000_000 + 977 * ordinal);
  }
  return block;
}
