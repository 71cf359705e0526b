/** Where and as what a command writes. */

import type { ClusterInformationSpec } from "../../api/cluster-information.ts";
import type { Kind, Resource } from "../../api/resource.ts";
import { KINDS } from "../../api/registry.ts";
import { requireReady } from "../../datastore/cluster-state.ts";
import type { Datastore, ResourceRef, Stored, Write } from "../../datastore/datastore.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { VERSION } from "../../lib/version.ts";
import { CommandFailed } from "../failure.ts";
import type { CliIo } from "../io.ts";

export interface Target {
  readonly datastore: Datastore;
  readonly io: CliIo;
}

/** How often a write begins again after somebody else changed what it read: of so many who change one object at once the last gets through. */
const TRIES = 20;

/** An object's name as people read it: `ippool "blue"`, `workloadendpoint "a/b"`. */
export function toTitle({ kind, namespace, name }: ResourceRef): string {
  return `${kind.toLowerCase()} ${quote(namespace === undefined ? name : `${namespace}/${name}`)}`;
}

/** An object's name as programs read it, and as commands take it: `ippool/blue`. */
export function toPathName({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind.toLowerCase()}/${name}`;
}

export function refOf({ kind, metadata }: Resource): ResourceRef {
  return { kind, name: metadata.name, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) };
}

/**
 * Runs a read-decide-write loop.
 *
 * @param attempt gives undefined when somebody else was quicker
 * @throws {NetplugError} tryAgainLater when others keep being quicker
 */
export async function withRetries<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < TRIES; count++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new NetplugError("tryAgainLater", `${what}: others keep changing it`);
}

/**
 * What every commit carries: nothing may be written to a datastore that a migration has frozen, or by a program older than the
 * cluster, except to ClusterInformation itself.
 *
 * @throws NetplugError notInitialised, or tryAgainLater when it is frozen; {@link CommandFailed} when the cluster is newer
 */
export function guardsFor(kind: Kind, information: Stored<Resource> | undefined): readonly Write[] {
  if (kind === "ClusterInformation") return [];
  requireReady(information, "release");
  const fault = whyTooOld(information?.value.spec as ClusterInformationSpec | undefined);
  if (fault !== undefined) throw new CommandFailed(`write ${KINDS[kind].plural}: ${fault}`, { next: "version" });
  return [{ op: "expect", ref: CLUSTER_INFORMATION, revision: information?.revision }];
}

/** Whether this program may be too old for a cluster: later minor versions store what it does not know. */
export function whyTooOld(information: ClusterInformationSpec | undefined, own = VERSION): string | undefined {
  const minorOf = (version: string | undefined): number => {
    const [, major, minor] = /^v(\d{1,5})\.(\d{1,5})\./.exec(version ?? "") ?? [];
    return major === undefined ? 0 : Number(major) * 100_000 + Number(minor);
  };
  if (minorOf(information?.version) <= minorOf(own)) return undefined;
  return `the cluster is of version ${information?.version ?? ""}, this program of ${own}; use a program of the cluster's version`;
}

/** What was named does not exist. */
export class NotFound extends CommandFailed {
  constructor(ref: ResourceRef) {
    super(`find ${toTitle(ref)}: there is none`, { next: toListing(ref.kind) });
  }
}

/** The command that shows which names there are. */
export function toListing(kind: Kind): string {
  // an endpoint's name is not its workload's, and stands among the wide columns
  return kind === "WorkloadEndpoint" ? `get ${KINDS[kind].plural} -A -o wide` : `get ${KINDS[kind].plural}`;
}
