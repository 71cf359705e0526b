/** What is damaged in the datastore, gathered from several reads. */

import type { BlockRef } from "../../../api/ipam-block.ts";
import type { Damage, ReadOptions } from "../../../datastore/datastore.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";

/** How the messages about blocks end that others see: whoever gathers damage is the check that they name, or names it in the end. */
const ADVICE = /; run "netplugctl ipam check"$/;

/** Handed to a read as its options, it hears of all damage. */
export class DamageList implements ReadOptions {
  readonly #byName = new Map<string, Damage>();
  /** By CIDR: what is wrong with a block, its claim, or what it is found by. */
  readonly #byCidr = new Map<string, Damage[]>();

  readonly onDamage = (found: Damage): void => {
    const damage = { ...found, reason: found.reason.replace(ADVICE, "") };
    this.#byName.set(`${damage.kind} ${damage.name}`, damage);
    if (damage.cidr === undefined) return;
    const text = toPrefixText(damage.cidr);
    this.#byCidr.set(text, [...(this.#byCidr.get(text) ?? []), damage]);
  };

  /** Each damage once. */
  get all(): readonly Damage[] {
    return [...this.#byName.values()];
  }

  /** Those of blocks, and of the entries by which blocks are found. */
  get ofBlocks(): readonly Damage[] {
    return this.all.filter(({ kind }) => kind === "IPAMBlock");
  }

  /** Those of resources. */
  get ofResources(): readonly Damage[] {
    return this.all.filter(({ kind }) => kind !== "IPAMBlock");
  }

  /** Why a block, or its claim, is not to be found as what it is: labels that are wrong may name any node. */
  faultOf({ cidr, node }: BlockRef): string | undefined {
    const found = this.#byCidr.get(toPrefixText(cidr));
    return found?.find((damage) => damage.isAnswered || damage.node === undefined || damage.node === node)?.reason;
  }
}
