/** Many nodes that want addresses at once: claims, fills and retries on a real etcd. */

import { allocate } from "../../src/ipam/allocate.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { open, portsOf, prepare, requestOf } from "./ipam-world.ts";
import type { BenchRow } from "./row.ts";
import { summarize, toText } from "./summary.ts";

const NODES = 20;
const ADDRESSES_PER_NODE = 50;
const WANTED_PER_SECOND = 200;

/** 20 claimants, each for a node of its own, take 50 addresses one after the other. */
export async function benchManyNodes(etcdEndpoint: string): Promise<BenchRow> {
  await prepare(etcdEndpoint);
  const nodes = Array.from({ length: NODES }, (_, i) => `node-${i}`);
  const outcome = await race(etcdEndpoint, nodes);
  return {
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
  };
}

/** What a race between claimants came to. */
interface RaceOutcome {
  /** Milliseconds of each allocation. */
  readonly times: readonly number[];
  readonly perSecond: number;
  readonly duplicates: number;
  readonly errors: number;
  readonly roundTrips: number;
}

/** One claimant for each of `nodes`, all at once, each with a connection of its own. */
async function race(endpoint: string, nodes: readonly string[]): Promise<RaceOutcome> {
  const times: number[] = [];
  const given: string[] = [];
  let errors = 0;
  let roundTrips = 0;
  const started = performance.now();
  const claim = async (node: string, claimant: number): Promise<void> => {
    const datastore = open(endpoint);
    for (let i = 0; i < ADDRESSES_PER_NODE; i++) {
      const begin = performance.now();
      try {
        const addresses = await allocate(portsOf(datastore), requestOf(node, `${claimant}-${i}`));
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
