/** Creates, changes and deletes resources by compare-and-swap. */

import type { AnyResource } from "../../api/registry.ts";
import type { Metadata, Resource } from "../../api/resource.ts";
import { ValidationError } from "../../api/schema/problem.ts";
import { withoutShown } from "../../api/shown-annotations.ts";
import { BUILT_IN_TIERS } from "../../api/tier.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Datastore, ResourceRef, Stored } from "../../datastore/datastore.ts";
import { refOf } from "../../datastore/resource-ref.ts";
import { quote } from "../../lib/quote.ts";
import { toTimeText } from "../../lib/time-text.ts";
import { CommandFailed } from "../failures/failure.ts";
import { type CliIo, note } from "../io.ts";
import { withRetries } from "./compare-and-swap.ts";
import { KnownPools } from "./known-pools.ts";
import { NotFound, toListing, toPathName, toReading, toTitle } from "./object-name.ts";
import { checkNewPool } from "./pool-rules.ts";
import { putImmutableFirst, requireUnchanged } from "./immutable-fields.ts";
import { type StoredForDeletion, readForDeletion } from "./unreadable.ts";
import { requireOwnFields } from "./own-fields.ts";
import { guardsFor } from "./write-guards.ts";

/** Size limit of one object, in bytes: etcd's limit of a whole request is one and a half times that. */
const MAX_OBJECT_BYTES = 1_048_576;

/** Where a command writes, and what it takes identities and times from. */
export interface Target {
  readonly datastore: Datastore;
  readonly io: CliIo;
  /** For a command that makes several pools. @default read for each */
  readonly pools?: KnownPools;
}

/** What a write did. */
export type WriteOutcome = "created" | "configured" | "unchanged";

/** What a write did, and to what. */
interface Applied {
  readonly outcome: WriteOutcome;
  /** As it was before; undefined when it was not there. */
  readonly before?: Resource;
  readonly resource: Resource;
}

/**
 * Creates an object with an identity of its own.
 *
 * @returns what was created, or what exists under its name and stays as it is
 * @throws {CommandFailed} a rule between objects says no
 */
export async function createResource(
  target: Target,
  resource: AnyResource,
): Promise<{ readonly created: Resource } | { readonly existing: Stored<Resource> }> {
  const { datastore, io, pools = new KnownPools(datastore, io.clock) } = target;
  const ref = refOf(resource);
  return withRetries(`create ${toTitle(ref)}`, async () => {
    const [information, existing] = await datastore.read([CLUSTER_INFORMATION, { type: "get", ref }]);
    if (existing !== undefined) return { existing };
    const guards = guardsFor(resource.kind, information);
    if (resource.kind === "WorkloadEndpoint" && datastore.traits.recordsArePods) throw toPodMissed(ref);
    if (resource.kind === "IPPool") await checkNewPool(target, ref.name, resource.spec, await pools.cidrs());
    const { resourceVersion: _, ...metadata } = resource.metadata;
    const created: Resource = { ...resource, metadata: { ...metadata, ...makeIdentity(io) } };
    requireSmall(created);
    const result = await datastore.commit([{ op: "create", resource: created }, ...guards]);
    if (!result.committed) pools.forget();
    return result.committed ? { created } : undefined;
  });
}

/** Each pod has its endpoints without anybody's doing. */
function toPodMissed(ref: ResourceRef): CommandFailed {
  const why = "on the Kubernetes datastore endpoints are views of pods, and no pod has this one";
  return new CommandFailed(`create ${toTitle(ref)}: ${why}`, { next: toListing(ref.kind) });
}

/** What tells an object from a later one of its name. */
export function makeIdentity(io: Pick<CliIo, "makeUuid" | "clock">): Pick<Metadata, "uid" | "creationTimestamp"> {
  return { uid: io.makeUuid(), creationTimestamp: toTimeText(io.clock.now() / 1000) };
}

/** Beside etcd a node works without an object, so that a list of them proposes nothing. */
function toNotFound(ref: ResourceRef, { type }: Datastore): NotFound {
  if (ref.kind !== "Node" || type === "kubernetes") return new NotFound(ref);
  return new NotFound(ref, { detail: "on etcd somebody has to create it", next: "create -f FILE" });
}

/**
 * Changes an object that exists; its identity stays. When somebody else was quicker, `change` is called again on the newer object, unless
 * what it gives names the `resourceVersion` that it is meant for.
 *
 * @throws {CommandFailed} there is none, or it is another version; {@link ValidationError} a field that keeps its value
 */
export async function updateResource(
  target: Target,
  ref: ResourceRef,
  change: (current: Resource) => AnyResource,
): Promise<Applied & { readonly before: Resource }> {
  const { datastore } = target;
  const { isEnding, ...done } = await withRetries(`change ${toTitle(ref)}`, async () => {
    const [information, stored] = await datastore.read([CLUSTER_INFORMATION, { type: "get", ref }]);
    if (stored === undefined) throw toNotFound(ref, datastore);
    const { isEnding = false } = stored;
    const guards = guardsFor(ref.kind, information);
    const wanted = changed(stored.value, change);
    requireSameVersion(ref, stored, wanted);
    requireUnchanged(stored.value, wanted);
    const next = keepIdentity(stored.value, wanted);
    const before = { ...stored.value, metadata: withoutShown(stored.value.metadata) };
    if (Bun.deepEquals(withoutVersion(before), withoutVersion(next)))
      return { outcome: "unchanged", before, resource: stored.value, isEnding } as const;
    requireOwnFields(datastore.type, ref, before, next);
    requireSmall(next);
    const result = await datastore.commit([{ op: "update", resource: next, revision: stored.revision }, ...guards]);
    return result.committed ? ({ outcome: "configured", before, resource: next, isEnding } as const) : undefined;
  });
  if (isEnding)
    note(target, `warning: ${toPathName(ref)} is being deleted, and what is written to it goes with it: create it when it is gone`);
  return done;
}

/** Creates the object or makes the existing one like it. */
export async function applyResource(target: Target, resource: AnyResource): Promise<Applied> {
  return withRetries<Applied>(`apply ${toTitle(refOf(resource))}`, async () => {
    const result = await createResource(target, resource);
    if ("created" in result) return { outcome: "created", resource: result.created };
    try {
      return await updateResource(target, refOf(resource), () => resource);
    } catch (error) {
      // Deleted between the two.
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  });
}

/** Deletes an object on which nothing else depends; a pool needs `deletePool`. @returns what it was @throws {CommandFailed} */
export async function deleteResource({ datastore }: Target, ref: ResourceRef): Promise<StoredForDeletion> {
  if (ref.kind === "ClusterInformation") throw new CommandFailed(`delete ${toTitle(ref)}: the datastore would count as never initialised`);
  if (ref.kind === "Tier" && BUILT_IN_TIERS.some((tier) => tier.name === ref.name))
    throw new CommandFailed(`delete ${toTitle(ref)}: it is built in`);
  return withRetries(`delete ${toTitle(ref)}`, async () => {
    const [information] = await datastore.read([CLUSTER_INFORMATION]);
    const found = await readForDeletion(datastore, ref);
    if (found === undefined) throw new NotFound(ref);
    const guards = guardsFor(ref.kind, information);
    const result = await datastore.commit([{ op: "delete", ref, revision: found.stored.revision }, ...guards]);
    return result.committed ? found : undefined;
  });
}

function requireSmall(resource: Resource): void {
  const bytes = new TextEncoder().encode(JSON.stringify(resource)).length;
  if (bytes > MAX_OBJECT_BYTES)
    throw new CommandFailed(`write ${toTitle(refOf(resource))}: got ${bytes} bytes, want at most ${MAX_OBJECT_BYTES}`);
}

function requireSameVersion(ref: ResourceRef, stored: Stored<Resource>, wanted: AnyResource): void {
  const { resourceVersion } = wanted.metadata;
  if (resourceVersion === undefined || resourceVersion === stored.revision) return;
  throw new CommandFailed(
    `change ${toTitle(ref)}: got resourceVersion ${quote(resourceVersion)}, and it is ${quote(stored.revision)} now; somebody changed it: read it again, or leave resourceVersion out`,
    { next: toReading(ref) },
  );
}

function changed(current: Resource, change: (current: Resource) => AnyResource): AnyResource {
  try {
    return change(current);
  } catch (error) {
    throw error instanceof ValidationError ? putImmutableFirst(error, current) : error;
  }
}

function keepIdentity(current: Resource, wanted: AnyResource): Resource {
  const { uid, creationTimestamp } = current.metadata;
  const { uid: _uid, creationTimestamp: _created, resourceVersion: _version, ...metadata } = wanted.metadata;
  return {
    ...wanted,
    metadata: { ...metadata, ...(uid === undefined ? {} : { uid }), ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
  };
}

function withoutVersion(resource: Resource): Resource {
  const { resourceVersion: _, ...metadata } = resource.metadata;
  return { ...resource, metadata };
}
