/** `create`, `apply` and `replace`: objects from files into the datastore. */

import type { Kind } from "../../api/resource.ts";
import type { Datastore, ResourceRef } from "../../datastore/datastore.ts";
import { initialise } from "../../datastore/initialise.ts";
import { refOf } from "../../datastore/resource-ref.ts";
import { VERSION } from "../../lib/version.ts";
import type { DocumentFlags } from "../documents/documents.ts";
import { onSameFiles } from "../documents/same-files.ts";
import { CommandFailed } from "../failures/failure.ts";
import { type Cli, note } from "../io.ts";
import { toPathName, toReading, toTitle } from "../resources/object-name.ts";
import { applyResource, createResource, type Target, updateResource } from "../resources/write.ts";
import { type Write, writeDocuments } from "./write-documents.ts";

/** With `skipExists`, what exists stays as it is, and is no failure. */
export interface CreateFlags extends DocumentFlags {
  readonly skipExists?: boolean;
}

/** Creates objects; one that exists is refused. */
export async function create(cli: Cli, flags: CreateFlags): Promise<number> {
  const write: Write = async (target, resource) => {
    const result = await createResource(target, resource);
    if ("created" in result) return { outcome: "created" };
    const ref = refOf(resource);
    const isEnding = result.existing.isEnding === true;
    if (flags.skipExists !== true) {
      if (isEnding) throw new CommandFailed(`create ${toTitle(ref)}: it is being deleted; create it when it is gone`);
      throw toExists(target, ref, flags);
    }
    if (isEnding) note(target, `warning: ${toPathName(ref)} is being deleted: create it when it is gone`);
    return { outcome: "exists" };
  };
  return writeDocuments(cli, flags, { initialise: initialiseIfNew, mayChange: false, write });
}

/** What brings along those that are views on Kubernetes, and where to change it: a file says more of them than `apply` may change. */
const VIEWS: Partial<Record<Kind, string>> = {
  WorkloadEndpoint: "its pod brings it along; leave it out, or change its pod, with kubectl",
  Node: "Kubernetes' node brings it along; leave it out, or change the rest of it, with patch or label",
};

function toExists({ datastore }: Target, ref: ResourceRef, flags: DocumentFlags): CommandFailed {
  const title = toTitle(ref);
  const why = datastore.type === "kubernetes" ? VIEWS[ref.kind] : undefined;
  if (why === undefined) return new CommandFailed(`create ${title}: it exists`, { next: onSameFiles("apply", flags) });
  return new CommandFailed(`create ${title}: it exists; on the Kubernetes datastore ${why}`, { next: toReading(ref) });
}

/** Creates objects or makes existing ones like them. */
export async function apply(cli: Cli, flags: DocumentFlags): Promise<number> {
  return writeDocuments(cli, flags, { initialise: initialiseIfNew, mayChange: true, write: applyResource });
}

/** Makes existing objects like those given. */
export async function replace(cli: Cli, flags: DocumentFlags): Promise<number> {
  const write: Write = async (target, resource) => {
    const { outcome } = await updateResource(target, refOf(resource), () => resource);
    return { outcome: outcome === "configured" ? "replaced" : outcome };
  };
  return writeDocuments(cli, flags, { mayChange: true, write });
}

async function initialiseIfNew(cli: Cli, datastore: Datastore): Promise<Datastore> {
  const isNew = await initialise(datastore, { clock: cli.io.clock, version: VERSION, random: cli.io.random });
  if (isNew && datastore.type === "kubernetes") await (await import("../kubernetes/kept-addresses.ts")).warnOfKeptAddresses(cli, datastore);
  return datastore;
}
