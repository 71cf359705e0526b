/** What an object is called: in messages, by programs, in the datastore. */

import { KINDS } from "../../api/registry.ts";
import type { Kind, Resource } from "../../api/resource.ts";
import type { ResourceRef } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failure.ts";

/** The namespace of what names none, unless a kubeconfig's context says another. */
export const DEFAULT_NAMESPACE = "default";

/** An object's name as people read it: `ippool "blue"`, `workloadendpoint "a/b"`. */
export function toTitle({ kind, namespace, name }: ResourceRef): string {
  return `${kind.toLowerCase()} ${quote(namespace === undefined ? name : `${namespace}/${name}`)}`;
}

/** An object's name as programs read it, and as commands take it: `ippool/blue`. */
export function toPathName({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind.toLowerCase()}/${name}`;
}

/** Where the datastore has an object. */
export function refOf({ kind, metadata }: Resource): ResourceRef {
  return { kind, name: metadata.name, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) };
}

/** The command that lists the names of a kind. */
export function toListing(kind: Kind): string {
  // An endpoint is not named like its workload, and its name is one of the wide columns.
  return kind === "WorkloadEndpoint" ? `get ${KINDS[kind].plural} -A -o wide` : `get ${KINDS[kind].plural}`;
}

/** The object that was named does not exist. */
export class NotFound extends CommandFailed {
  constructor(ref: ResourceRef) {
    super(`find ${toTitle(ref)}: there is none`, { next: toListing(ref.kind) });
  }
}
