/** What an object is called: in messages, by programs. */

import { KINDS } from "../../api/registry.ts";
import type { Kind } from "../../api/resource.ts";
import type { ResourceRef } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";

/** An object's name as people read it: `ippool "blue"`, `workloadendpoint "a/b"`. */
export function toTitle({ kind, namespace, name }: ResourceRef): string {
  return `${kind.toLowerCase()} ${quote(namespace === undefined ? name : `${namespace}/${name}`)}`;
}

/** An object's name as programs read it, and as commands take it: `ippool/blue`. */
export function toPathName({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind.toLowerCase()}/${name}`;
}

/** The command that lists the names of a kind. */
export function toListing(kind: Kind): string {
  // An endpoint is not named like its workload, and its name is one of the wide columns.
  return kind === "WorkloadEndpoint" ? `get ${KINDS[kind].plural} -A -o wide` : `get ${KINDS[kind].plural}`;
}

/** The command that shows an object as it is. */
export function toReading({ kind, namespace, name }: ResourceRef): string {
  return `get ${KINDS[kind].plural} ${name}${namespace === undefined ? "" : ` -n ${namespace}`} -o yaml`;
}

const CIDR = /^[\da-f]*[.:][\da-f.:]*\/\d+$/i;

/** Kinds of which people remember the CIDR. */
const KNOWN_BY_CIDR = new Map([
  ["IPPool", "pool"],
  ["IPReservation", "reservation"],
]);

/** What is to be said of a name that no object of its kind has. */
export function describeMissing({ kind, name }: { readonly kind: string; readonly name: string }): string | undefined {
  const called = CIDR.test(name) ? KNOWN_BY_CIDR.get(kind) : undefined;
  return called === undefined ? undefined : `a ${called} is asked for by its name, and not by its CIDR`;
}

/** The object that was named does not exist. */
export class NotFound extends CommandFailed {
  /** With `detail` and `next`, what is said besides, and the command to go on with. */
  constructor(ref: ResourceRef, { detail = describeMissing(ref), next }: { readonly detail?: string; readonly next?: string } = {}) {
    super(`find ${toTitle(ref)}: there is none${detail === undefined ? "" : `; ${detail}`}`, { next: next ?? toListing(ref.kind) });
  }
}
