/** What an ADD must answer, said by the contract and by what is stored before it. */

import { canonical, type Family, familyOf, isWithin } from "../../support/ip-arithmetic.ts";
import type { BlockView } from "./oracle.ts";
import { type Asked, isOwner, type NodeName, type PoolSpec, RACKS, type State } from "./state.ts";
import { supplyOf } from "./supply.ts";

export interface Refusal {
  readonly code: number;
  /** What the message has to name. */
  readonly names: readonly string[];
}

/** A refusal, or what is wrong with the addresses that were given. */
export type Forecast = Refusal | { readonly judge: (given: readonly string[]) => string | undefined };

/** @param blocks as they are stored before the ADD */
export function forecast(state: State, asked: Asked, blocks: readonly BlockView[]): Forecast {
  const { sandbox } = asked;
  if (!sandbox.hasNetns) return { code: 8, names: [sandbox.netns.path] };
  if (!state.isReady) return { code: 11, names: ["locked"] };
  if (sandbox.isStale) {
    const { name = "", uid = "" } = sandbox.pod ?? {};
    return { code: 106, names: state.sandboxes.has(sandbox.slot) ? [name, uid] : [name, "deleted"] };
  }
  const past = sandbox.pod?.annotations.ipAddrsNoIpam;
  if (past !== undefined) return { judge: (given) => differenceOf(given, past) };
  const allocated = allocatedTo(asked, blocks);
  const explicit = explicitOf(asked);
  return explicit === undefined ? forecastAutomatic(state, asked, blocks, allocated) : forecastExplicit(state, asked, blocks, explicit);
}

/** The addresses that are asked for by name: annotations rank first. */
export function explicitOf({ sandbox, demand }: Pick<Asked, "sandbox" | "demand">): readonly string[] | undefined {
  return sandbox.pod?.annotations.ipAddrs ?? demand.explicit?.addresses;
}

/** The pools that give automatic addresses, or why there are none. */
export function allowedPools(state: Pick<State, "pools">, asked: Asked, family: Family): Usable | Refusal {
  const named = namedPools(asked, family);
  return named === undefined ? automaticPools(state, asked.sandbox.node, family) : findPools(state, named, family);
}

/** What blocks say that an attachment has. */
export function allocatedTo(asked: Pick<Asked, "sandbox" | "ifName">, blocks: readonly BlockView[]): readonly string[] {
  return blocks.flatMap(({ allocated }) => [...allocated].flatMap(([address, owner]) => (isOwner(asked, owner) ? [address] : [])));
}

function forecastExplicit(state: State, { sandbox, ifName }: Asked, blocks: readonly BlockView[], wanted: readonly string[]): Forecast {
  for (const text of wanted) {
    const address = canonical(text);
    const block = blocks.find(({ cidr }) => isWithin(address, cidr));
    const owner = block?.allocated.get(address);
    if (owner !== undefined && isOwner({ sandbox, ifName }, owner)) continue;
    const [name, pool] = state.poolOf(address) ?? [];
    if (pool === undefined) return { code: 103, names: [address] };
    if (pool.disabled === true) return { code: 103, names: [address, name ?? "", "disabled"] };
    if (owner !== undefined) return { code: 102, names: [address, owner.containerID, owner.node] };
    if (block === undefined || block.node === sandbox.node || block.allocated.size === 0) continue;
    if (state.settings.strictAffinity) return { code: 103, names: [address, block.cidr, "strictAffinity"] };
  }
  return { judge: (given) => differenceOf(given, wanted) };
}

function forecastAutomatic(state: State, asked: Asked, blocks: readonly BlockView[], allocated: readonly string[]): Forecast {
  const { sandbox, demand } = asked;
  const judges: ((given: string) => string | undefined)[] = [];
  for (const family of demand.families) {
    const kept = allocated.filter((address) => familyOf(address) === family);
    if (kept.length > 0) {
      judges.push((given) => (kept.includes(given) ? undefined : `got ${given}, though the attachment has ${kept.join(", ")}`));
      continue;
    }
    const named = namedPools(asked, family);
    const pools = allowedPools(state, asked, family);
    if ("code" in pools) return pools;
    const supply = supplyOf(state, sandbox.node, pools.specs, blocks, family);
    const best = [supply.own, supply.unclaimed, supply.emptied, supply.borrowed].find((addresses) => addresses.length > 0);
    if (best === undefined) return { code: 101, names: [...namesOf(state, family, named), sandbox.node] };
    judges.push((given) => (best.includes(given) ? undefined : `got ${given}, want one of ${best.join(", ")}: ${JSON.stringify(supply)}`));
  }
  return {
    judge(given) {
      if (given.length !== judges.length) return `got ${given.length} addresses, want ${judges.length}`;
      for (const [i, judge] of judges.entries()) {
        const fault = judge(given[i] ?? "");
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
  };
}

/** Annotations rank above the network config. */
function namedPools({ sandbox, demand }: Asked, family: Family): readonly string[] | undefined {
  const key = family === 4 ? "ipv4" : "ipv6";
  const named = sandbox.pod?.annotations[`${key}pools`] ?? demand.pools?.[key];
  return named === undefined || named.length === 0 ? undefined : named;
}

/** A message about pools tells of each that could be meant. */
function namesOf({ pools }: State, family: Family, named: readonly string[] | undefined): readonly string[] {
  if (named === undefined) return [...pools].flatMap(([name, { cidr }]) => (familyOf(cidr) === family ? [name] : []));
  return named.flatMap((wanted) => [...pools].flatMap(([name, { cidr }]) => (name === wanted || cidr === wanted ? [name] : [])));
}

interface Usable {
  readonly specs: readonly PoolSpec[];
}

function automaticPools({ pools }: Pick<State, "pools">, node: NodeName, family: Family): Usable {
  const sorted = [...pools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, spec]) => spec);
  return {
    specs: sorted.filter(
      ({ cidr, disabled, assignmentMode, nodeSelector }) =>
        familyOf(cidr) === family && disabled !== true && assignmentMode !== "Manual" && selects(nodeSelector, node),
    ),
  };
}

/** The only selectors that commands write. */
function selects(selector: string | undefined, node: NodeName): boolean {
  return selector === undefined || selector === "all()" || selector === `rack == "${RACKS[node]}"`;
}

function findPools({ pools }: Pick<State, "pools">, named: readonly string[], family: Family): Usable | Refusal {
  const specs: PoolSpec[] = [];
  for (const wanted of named) {
    const spec = pools.get(wanted) ?? [...pools.values()].find(({ cidr }) => cidr === wanted);
    if (spec === undefined || spec.disabled === true || familyOf(spec.cidr) !== family) return { code: 100, names: [wanted] };
    if (!specs.includes(spec)) specs.push(spec);
  }
  return { specs };
}

function differenceOf(given: readonly string[], wanted: readonly string[]): string | undefined {
  const texts = wanted.map(canonical);
  return JSON.stringify(given.toSorted()) === JSON.stringify(texts.toSorted())
    ? undefined
    : `got ${given.join(", ")}, want ${texts.join(", ")}`;
}
