/** Where and as what a command writes. */

import type { Kind, Resource } from "../../api/resource.ts";
import { KINDS } from "../../api/registry.ts";
import { requireReady } from "../../datastore/cluster-state.ts";
import type { Datastore, ResourceRef, Stored, Write } from "../../datastore/datastore.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failure.ts";
import type { CliIo } from "../io.ts";

export interface Target {
  readonly datastore: Datastore;
  readonly io: CliIo;
}

/** How often a write begins again after somebody else changed what it read. */
const TRIES = 5;

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
 * What every commit carries: nothing may be written to a datastore that a migration has frozen, except what unfreezes it.
 *
 * @throws NetplugError notInitialised, or tryAgainLater when it is frozen
 */
export function guardsFor(kind: Kind, information: Stored<Resource> | undefined): readonly Write[] {
  if (kind === "ClusterInformation") return [];
  requireReady(information, "release");
  return [{ op: "expect", ref: CLUSTER_INFORMATION, revision: information?.revision }];
}

/** What was named does not exist. */
export class NotFound extends CommandFailed {
  constructor(ref: ResourceRef) {
    super(`find ${toTitle(ref)}: there is none`, { next: `get ${KINDS[ref.kind].plural}` });
  }
}
