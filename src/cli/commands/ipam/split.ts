/** `ipam split`: makes several pools of one. */

import { CLUSTER_INFORMATION } from "../../../datastore/cluster-state.ts";
import type { Write } from "../../../datastore/datastore.ts";
import { OutcomeUnknown } from "../../../datastore/outcome-unknown.ts";
import { cidrOfPool } from "../../../ipam/admin/pools/pool-cidr.ts";
import { NotLocked, type Part, PartTaken, planSplit } from "../../../ipam/admin/split.ts";
import { IP_POOLS } from "../../../ipam/cluster.ts";
import { type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { withDatastore } from "../../access/access.ts";
import { CommandFailed, EXIT, UsageError } from "../../failures/failure.ts";
import { LOCK, toCommandLine } from "../../failures/suggested-commands.ts";
import { type Cli, note, say } from "../../io.ts";
import { withRetries } from "../../resources/compare-and-swap.ts";
import { DELETED, describeDeletion } from "../describe-deletion.ts";
import { makeIdentity } from "../../resources/write.ts";
import { guardsFor } from "../../resources/write-guards.ts";

/** The pool to split: exactly one of its name and its CIDR. */
export interface SplitFlags {
  readonly name?: string;
  readonly cidr?: Prefix;
}

/** Blocks and workloads stay as they are; the datastore must be locked. What was interrupted is finished by the same command. */
export async function ipamSplit(cli: Cli, flags: SplitFlags, parts: number): Promise<number> {
  if ((flags.name === undefined) === (flags.cidr === undefined)) throw new UsageError("choose pool: want either --name or --cidr");
  return await withDatastore(cli, async (datastore) => {
    /** Names of parts that others have made; undefined until that is known. */
    let before: ReadonlySet<string> | undefined;
    /** Set once a part may be there, and others not: where a commit is not applied at once. */
    let begun: Begun | undefined;
    const made = await withRetries("split pool", async () => {
      const [pools, information] = await datastore.read([IP_POOLS, CLUSTER_INFORMATION]);
      const wanted = flags.cidr === undefined ? undefined : toPrefixText(flags.cidr);
      const pool = pools.find(({ value }) => {
        const cidr = cidrOfPool(value);
        return wanted === undefined ? value.metadata.name === flags.name : cidr !== undefined && toPrefixText(cidr) === wanted;
      });
      if (pool === undefined) {
        const hint = flags.name?.includes("/") === true ? "; want the name of a pool, --cidr takes a CIDR" : "";
        throw new CommandFailed(`split pool ${quote(wanted ?? flags.name ?? "")}: there is none${hint}`, { next: "get ippools" });
      }
      guardsFor("IPPool", information);
      const plan = planOrFail(() => planSplit(pool, parts, information, pools));
      const { name } = pool.value.metadata;
      const split: Begun = { name, parts: plan.parts };
      before ??= new Set(plan.parts.flatMap((part) => (part.isThere ? [part.pool.metadata.name] : [])));
      const commit = async (writes: readonly Write[]): Promise<boolean> =>
        (await datastore.commit(writes.map((write) => withIdentity(cli, write)))).committed;
      if (plan.claim !== undefined && !datastore.traits.commitsAtOnce) {
        const isMade = await commit(plan.claim).catch((thrown: unknown) => {
          if (thrown instanceof OutcomeUnknown) begun = split;
          throw thrown;
        });
        if (isMade) begun = split;
        else before = undefined;
        return undefined; // read it again: the first part is there now, this split's or another's
      }
      if (!datastore.traits.commitsAtOnce) begun = split;
      return (await commit(plan.writes)) ? { pool, name, parts: plan.parts.map((part) => part.pool), before } : undefined;
    }).catch((thrown: unknown) => {
      if (begun !== undefined) note(cli, toBegunText(cli, begun));
      throw thrown;
    });
    for (const { metadata, spec } of made.parts)
      say(cli, `ippool/${metadata.name} ${made.before.has(metadata.name) ? "exists" : "created"} (${spec.cidr})`);
    const end = describeDeletion(made.pool);
    say(
      cli,
      `ippool/${made.name} ${end}${end === DELETED ? "" : "; as long as it is there, the new ones, which it overlaps, give no addresses"}`,
    );
    say(cli, `whatever names pool ${quote(made.name)} must name the new ones: annotations of pods and namespaces, network configs`);
    return EXIT.done;
  });
}

/** A number of parts that does not fit is refused, not a defect; a lock that is missing can be set. */
function planOrFail<T>(plan: () => T): T {
  try {
    return plan();
  } catch (error) {
    if (error instanceof RangeError) throw new CommandFailed(error.message);
    if (error instanceof PartTaken) throw new CommandFailed(error.message, { next: `get ippool ${error.pool}` });
    if (error instanceof NotLocked) throw new CommandFailed(error.message, { next: LOCK });
    throw error;
  }
}

/** A split that may be half done, or done. */
interface Begun {
  /** Of the pool that is split. */
  readonly name: string;
  readonly parts: readonly Part[];
}

function toBegunText(cli: Cli, { name, parts }: Begun): string {
  const [first, last] = [parts[0], parts.at(-1)].map((part) => quote(part?.pool.metadata.name ?? ""));
  const shows = quote(toCommandLine(cli, "get ippools"));
  const finish = `once the cause is removed, the same command finishes it, as long as ${quote(name)} is there, too`;
  return `warning: the split may be half done: ${shows} shows which of the pools ${first} to ${last} are there; ${finish}`;
}

function withIdentity({ io }: Cli, write: Write): Write {
  if (write.op !== "create") return write;
  return { ...write, resource: { ...write.resource, metadata: { ...write.resource.metadata, ...makeIdentity(io) } } };
}
