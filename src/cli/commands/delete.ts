/** `delete`: takes objects away; a pool in use goes by a protocol that keeps running workloads. */

import { KINDS } from "../../api/registry.ts";
import type { ResourceRef } from "../../datastore/datastore.ts";
import { OutcomeUnknown } from "../../datastore/outcome-unknown.ts";
import { refOf } from "../../datastore/resource-ref.ts";
import { messageOf } from "../../lib/errors.ts";
import { toTimeText } from "../../lib/time-text.ts";
import { withDatastore } from "../access/access.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import { CommandFailed, EXIT, UsageError } from "../failures/failure.ts";
import { type Cli, note, say } from "../io.ts";
import { count } from "../output/count.ts";
import { clearEndpoint } from "../resources/clear-endpoint.ts";
import { describeDeletion } from "./describe-deletion.ts";
import { deletePool, type PoolDeletion } from "../resources/delete-pool.ts";
import { checkNamespace, parseNames, toRef } from "../resources/name-arguments.ts";
import { NotFound, toPathName } from "../resources/object-name.ts";
import { toShown } from "../resources/unreadable.ts";
import { readDocuments } from "../documents/documents.ts";
import { requireValidDocuments } from "../documents/validation.ts";
import { deleteResource, type Target } from "../resources/write.ts";
import { toCommandLine, toWord } from "../failures/suggested-commands.ts";

/** Objects come from files or from words, never both. With `ignoreNotFound`, what does not exist is no failure. */
export interface DeleteFlags {
  readonly filename?: readonly string[];
  readonly namespace?: string;
  readonly ignoreNotFound?: boolean;
}

/** Deletes each object that is named; one that cannot be deleted does not stop the others. */
export async function remove(cli: Cli, flags: DeleteFlags, ...words: string[]): Promise<number> {
  const refs = await refsOf(cli, flags, words);
  return withDatastore(cli, async (datastore) => {
    let failures = 0;
    for (const ref of refs) {
      try {
        say(cli, `${toPathName(ref)} ${await deleteOne(cli, { datastore, io: cli.io }, ref)}`);
      } catch (thrown) {
        if (thrown instanceof NotFound && flags.ignoreNotFound === true) continue;
        if (refs.length === 1) throw thrown;
        failures++;
        note(cli, messageOf(thrown));
      }
    }
    if (failures === 0) return EXIT.done;
    throw new CommandFailed(`${failures} of ${refs.length} objects were not deleted`);
  });
}

async function refsOf(cli: Cli, flags: DeleteFlags, words: readonly string[]): Promise<readonly ResourceRef[]> {
  if (flags.filename !== undefined && flags.filename.length > 0) {
    if (words.length > 0) throw new UsageError("read arguments: want either -f or KIND NAME…");
    const read = await readDocuments(cli.io, flags.filename);
    const documents = requireValidDocuments(read, { ...flags, filename: flags.filename }, await defaultNamespaceOf(cli));
    return documents.map(({ resource }) => refOf(resource));
  }
  const named = parseNames(words);
  if (named.some(({ names }) => names.length === 0)) throw new UsageError("read arguments: got no name, want KIND NAME…");
  checkNamespace(named, flags.namespace);
  const namespace = flags.namespace ?? (await defaultNamespaceOf(cli));
  return named.flatMap(({ info, names }) => names.map((name) => toRef(info, name, namespace)));
}

async function deleteOne(cli: Cli, target: Target, ref: ResourceRef): Promise<string> {
  if (ref.kind === KINDS.WorkloadEndpoint.kind && target.datastore.traits.recordsArePods) return await clearEndpoint(target, ref);
  if (ref.kind === KINDS.IPPool.kind) return await deleteOnePool(cli, target, ref.name);
  const found = await deleteResource(target, ref);
  return `${describeDeletion(found.stored)}${toFoundText(found)}`;
}

async function deleteOnePool(cli: Cli, target: Target, name: string): Promise<string> {
  let isDisabled = false;
  try {
    const deletion = await deletePool(target, name, () => void (isDisabled = true));
    return `${describeDeletion(deletion)}${toBlocksText(deletion)}`;
  } catch (thrown) {
    const enable = toCommandLine(cli, `patch ippool ${toWord(name)} -p '{"spec":{"disabled":false}}'`);
    const stays = thrown instanceof OutcomeUnknown ? "stays so if it is still there" : "stays so";
    // Whoever cannot delete it now may want its addresses until then.
    if (isDisabled && !(thrown instanceof NotFound))
      note(cli, `warning: ippool/${name} was disabled, so that it could be deleted, and ${stays}; to enable it again: ${enable}`);
    throw thrown;
  }
}

function toFoundText({ text }: { readonly text?: string }): string {
  return text === undefined ? "" : `; what was stored in its place was ${toShown(text)}`;
}

function toBlocksText({ releasedBlocks, endingBlocks, keptBlocks, keptAddresses, coolsUntil, text }: PoolDeletion): string {
  if (text !== undefined) return `${toFoundText({ text })}; its blocks stay`;
  const gone = releasedBlocks === 0 ? "" : `; ${count(releasedBlocks, "empty block")} released`;
  const ending = `; ${count(endingBlocks, "block")} ${endingBlocks === 1 ? "is" : "are"} being deleted: other programs have yet to remove their finalizers`;
  const released = endingBlocks === 0 ? gone : `${gone}${ending}`;
  if (keptBlocks === 0) return released;
  const cooling = coolsUntil === undefined ? "" : `, and others that cool down until ${toTimeText(coolsUntil)},`;
  const kept = `${count(keptBlocks, "block")} with ${count(keptAddresses, "address", "es")} in use${cooling} ${keptBlocks === 1 ? "stays; once it is" : "stay; once they are"} empty`;
  return `${released}; ${kept}, create the pool again and delete it`;
}
