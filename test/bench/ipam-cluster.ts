/** Many nodes that want addresses at once: claims, fills and retries on a real etcd. */

import { openEtcd } from "../datastore/open-etcd.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { initialise } from "../../src/datastore/initialise.ts";
import type { AddressRequest } from "../../src/ipam/request.ts";
import { allocate } from "../../src/ipam/allocate.ts";
import type { TransactPorts } from "../../src/ipam/transact/transact.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startDeadline } from "../../src/lib/deadline.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { takeLock } from "../../src/linux/flock.ts";
import type { BenchRow, IpamBenchContext } from "./row.ts";
import { summarize, toText } from "./summary.ts";

const NODES = 20;
const ADDRESSES_PER_NODE = 50;
const WANTED_PER_SECOND = 200;

/** 20 claimants, each for a node of its own, take 50 addresses one after the other. */
export async function bench({ etcdEndpoint }: IpamBenchContext): Promise<readonly BenchRow[]> {
  await prepare(etcdEndpoint);
  const nodes = Array.from({ length: NODES }, (_, i) => `node-${i}`);
  const outcome = await race(etcdEndpoint, nodes, ADDRESSES_PER_NODE);
  return [
    {
      what: `${NODES} nodes × ${ADDRESSES_PER_NODE} addresses at once, in one process`,
      target: `no duplicate, no error, ≥ ${WANTED_PER_SECOND} a second`,
      measured: `${Math.round(outcome.perSecond)} a second, ${outcome.duplicates} duplicates, ${outcome.errors} errors; one: ${toText(summarize(outcome.times))}`,
      met: outcome.perSecond >= WANTED_PER_SECOND && outcome.duplicates === 0 && outcome.errors === 0,
      figures: {
        ms: summarize(outcome.times),
        perSecond: Math.round(outcome.perSecond),
        duplicates: outcome.duplicates,
        errors: outcome.errors,
        roundTripsPerAddress: outcome.roundTrips / outcome.times.length,
      },
    },
  ];
}

/** What a race between claimants came to. */
export interface RaceOutcome {
  /** Milliseconds of each allocation. */
  readonly times: readonly number[];
  readonly perSecond: number;
  readonly duplicates: number;
  readonly errors: number;
  readonly roundTrips: number;
}

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

export function open(endpoint: string): Datastore {
  return openEtcd({ endpoints: [endpoint] });
}

/** One claimant for each of `nodes`, all at once, each with a connection of its own; with `lockFile` they take turns. */
export async function race(endpoint: string, nodes: readonly string[], addressesEach: number, lockFile?: string): Promise<RaceOutcome> {
  const times: number[] = [];
  const given: string[] = [];
  let errors = 0;
  let roundTrips = 0;
  const started = performance.now();
  const claim = async (node: string, claimant: number): Promise<void> => {
    const datastore = open(endpoint);
    for (let i = 0; i < addressesEach; i++) {
      const begin = performance.now();
      try {
        const addresses = await allocate(portsOf(datastore, lockFile), requestOf(node, `${claimant}-${i}`));
        given.push(...addresses.map(({ address }) => toAddressText(address)));
        times.push(performance.now() - begin);
      } catch (thrown) {
        console.error(thrown);
        errors++;
      }
    }
    roundTrips += datastore.requests.roundTrips;
    datastore.close();
  };
  await Promise.all(nodes.map(claim));
  const seconds = (performance.now() - started) / 1000;
  return { times, perSecond: given.length / seconds, duplicates: given.length - new Set(given).size, errors, roundTrips };
}

export function portsOf(datastore: Datastore, lockFile?: string): TransactPorts {
  const ports = { datastore, clock: systemClock, random: systemRandom, deadline: startDeadline(systemClock, 60_000) };
  if (lockFile === undefined) return ports;
  return { ...ports, takeTurn: ({ stallMs }) => takeLock(lockFile, { waitMs: stallMs, clock: systemClock }) };
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
  return { owner, use: "Workload", families: [4], pools: {}, addresses: [], namespaceLabels: {} };
}
