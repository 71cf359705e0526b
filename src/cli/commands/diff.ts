/** `diff`: what `apply` would change. */

import type { Resource } from "../../api/resource.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import { inFrontOf } from "../../datastore/in-front-of.ts";
import type { Datastore, Revision, Stored } from "../../datastore/datastore.ts";
import { initialise } from "../../datastore/initialise.ts";
import { refKeyOf, refOf } from "../../datastore/resource-ref.ts";
import { VERSION } from "../../lib/version.ts";
import type { DocumentFlags } from "../documents/documents.ts";
import { EXIT } from "../failures/failure.ts";
import { type Cli, note } from "../io.ts";
import { toDifferences } from "../output/differences.ts";
import { applyResource } from "../resources/write.ts";
import { type Write, writeDocuments } from "./write-documents.ts";

/** Applies every document by the same rules, but for the commit, and shows what would have been written. */
export async function diff(cli: Cli, flags: DocumentFlags): Promise<number> {
  const { stdout } = cli.io;
  let isDifferent = false;
  const write: Write = async (target, resource, origin) => {
    const { outcome, before, resource: after } = await applyResource(target, resource);
    if (outcome !== "unchanged") {
      stdout.write(toDifferences(before, after, { origin, colour: stdout.isTerminal }));
      isDifferent = true;
    }
    return { outcome, isTold: true };
  };
  const status = await writeDocuments(cli, flags, { initialise: seemToInitialise, mayChange: true, write });
  return isDifferent ? EXIT.different : status;
}

/** @returns the datastore as it would be when it was initialised, with commits that do nothing @throws NetplugError notInitialised without definitions */
async function seemToInitialise(cli: Cli, datastore: Datastore): Promise<Datastore> {
  const seeming = withoutCommits(datastore);
  const isNew = await initialise(seeming, { clock: cli.io.clock, version: VERSION, random: cli.io.random });
  if (!isNew) return seeming;
  // Without definitions apply fails; an object is only absent then, but a list fails, too.
  const [known] = await datastore.read([{ type: "list", kind: CLUSTER_INFORMATION.ref.kind }]);
  // A datastore that looks empty may be another one than was meant.
  if (known.length === 0) note(cli, "the datastore was never initialised: apply would do that first");
  return seeming;
}

/** A datastore whose every commit seems to succeed, and writes nothing; what it seems to have created is answered to who asks for it by name. */
function withoutCommits(inner: Datastore): Datastore {
  const created = new Map<string, Stored<Resource>>();
  const revision = "" as Revision;
  const read: Datastore["read"] = async (queries, options) => {
    const answers: readonly unknown[] = await inner.read(queries, options);
    // The mapped type cannot follow that each answer keeps its place.
    return answers.map((answer, i) => {
      const query = queries[i];
      return query?.type === "get" ? (answer ?? created.get(refKeyOf(query.ref))) : answer;
    }) as never;
  };
  const commit: Datastore["commit"] = async (writes) => {
    for (const write of writes)
      if (write.op === "create") created.set(refKeyOf(refOf(write.resource)), { value: withoutMadeUp(write.resource), revision });
    return { committed: true, revision };
  };
  return inFrontOf(inner, { read, commit });
}

/** Each initialisation makes up another GUID: this one would be shown as if it were the cluster's. */
function withoutMadeUp(resource: Resource): Resource {
  if (resource.kind !== CLUSTER_INFORMATION.ref.kind) return resource;
  return { ...resource, spec: { ...(resource.spec as object), clusterGUID: "one that apply makes up" } };
}
