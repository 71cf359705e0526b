/** What the commands share that write the documents of files: all are valid before the first is written. */

import type { AnyResource } from "../../api/registry.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { refKeyOf, refOf } from "../../datastore/resource-ref.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { withDatastore } from "../access/access.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import { CommandFailed, EXIT } from "../failures/failure.ts";
import { type Cli, note, say } from "../io.ts";
import { type DocumentFlags, readDocuments } from "../documents/documents.ts";
import { putImmutableFirst, mayChangeImmutable } from "../resources/immutable-fields.ts";
import { KnownPools } from "../resources/known-pools.ts";
import { toPathName } from "../resources/object-name.ts";
import { type InvalidDocument, toInvalidFailure, type ValidDocument } from "../documents/checked-documents.ts";
import { checkPoolsApart } from "../documents/pools-apart.ts";
import { checkDocumentsToWrite } from "../documents/validation.ts";
import type { Target } from "../resources/write.ts";
import { warnOfNewPools } from "./warn-of-new-pools.ts";

/** Writes one object. @param origin where its document was read */
export type Write = (target: Target, resource: AnyResource, origin: string) => Promise<Written>;

/** What became of an object. */
interface Written {
  /** In a word. */
  readonly outcome: string;
  /** Whether stdout has got more than that word already. @default false */
  readonly isTold?: boolean;
}

interface WriteOptions {
  /** Initialises an empty datastore first. @returns what is then written to @default none, for those that need something to be there */
  readonly initialise?: (cli: Cli, datastore: Datastore) => Promise<Datastore>;
  /** Whether what exists is changed. */
  readonly mayChange: boolean;
  readonly write: Write;
}

/** Nothing is written unless every document is valid; then one refusal does not stop the others. */
export async function writeDocuments(cli: Cli, flags: DocumentFlags, { initialise, mayChange, write }: WriteOptions): Promise<number> {
  const read = await readDocuments(cli.io, flags.filename);
  const namespace = { given: flags.namespace, fallback: await defaultNamespaceOf(cli) };
  const { valid: documents, invalid } = checkDocumentsToWrite(read, namespace);
  if (invalid.length > 0) throw toInvalidFailure(mayChange ? await compareWithStored(cli, invalid) : invalid, flags);
  return withDatastore(cli, async (datastore, openKube) => {
    const pools = new KnownPools(datastore, cli.io.clock);
    await requireNoNewOverlap(documents, pools, flags);
    const target = { datastore: (await initialise?.(cli, datastore)) ?? datastore, io: cli.io, pools };
    const failures: unknown[] = [];
    const newPools: Extract<AnyResource, { kind: "IPPool" }>[] = [];
    const done = new Map<string, Written>();
    for (const { resource, origin } of documents) {
      const key = refKeyOf(refOf(resource));
      try {
        // One that repeats another may name the version that is gone since that one was written.
        const earlier = mayChange ? done.get(key) : undefined;
        const written = earlier === undefined ? await write(target, resource, origin) : { ...earlier, outcome: "unchanged" };
        done.set(key, written);
        const { outcome, isTold = false } = written;
        if (outcome === "created" && resource.kind === "IPPool") newPools.push(resource);
        if (!isTold) say(cli, `${toPathName(refOf(resource))} ${outcome}`);
      } catch (thrown) {
        if (documents.length === 1) throw thrown;
        failures.push(thrown);
        note(cli, `${origin}: ${messageOf(thrown)}`);
      }
    }
    await warnOfNewPools(cli, { datastore, openKube }, newPools);
    if (failures.length === 0) return EXIT.done;
    throw new CommandFailed(`${failures.length} of ${documents.length} objects failed`);
  });
}

/** Pools that exist may overlap, for kubectl writes them, too; then they can be changed nevertheless. */
async function requireNoNewOverlap(documents: readonly ValidDocument[], pools: KnownPools, flags: DocumentFlags): Promise<void> {
  if (checkPoolsApart(documents).invalid.length === 0) return;
  const existing = await pools.cidrs();
  const { invalid } = checkPoolsApart(documents.filter(({ resource }) => !existing.has(resource.metadata.name)));
  if (invalid.length > 0) throw toInvalidFailure(invalid, flags);
}

/** If an invalid object would also change an immutable field, reports that first: to repair the rest would not help. */
async function compareWithStored(cli: Cli, invalid: readonly InvalidDocument[]): Promise<readonly InvalidDocument[]> {
  if (!invalid.some(({ error }) => mayChangeImmutable(error))) return invalid;
  const compare = async (datastore: Datastore, document: InvalidDocument): Promise<InvalidDocument> => {
    const { resource } = document.error;
    if (resource === undefined) return document;
    const [stored] = await datastore.read([{ type: "get", ref: refOf(resource) }]);
    return stored === undefined ? document : { ...document, error: putImmutableFirst(document.error, stored.value) };
  };
  try {
    return await withDatastore(cli, (datastore) => Promise.all(invalid.map((document) => compare(datastore, document))));
  } catch (thrown) {
    // Without the datastore, report at least the faults that are already known.
    if (thrown instanceof NetplugError) return invalid;
    throw thrown;
  }
}
