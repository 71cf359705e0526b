/** Which objects the words of a command line name. */

import type { KindInfo } from "../../api/registry.ts";
import type { Kind } from "../../api/resource.ts";
import type { ResourceRef } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import { UsageError } from "../failures/failure.ts";
import { parseKind } from "../arguments/kind-names.ts";
import { checkNamespaceName } from "../arguments/namespace-name.ts";

/** A kind, and the names given with it; none means all. */
export interface Named {
  readonly info: KindInfo;
  readonly names: readonly string[];
}

/**
 * As {@link parseNames}, and `KIND,KIND NAME…`, where the names count for each kind. For what only shows: who deletes says for each name of which
 * kind it is.
 *
 * @throws {UsageError}
 */
export function parseNamesOfKinds(words: readonly string[]): readonly Named[] {
  const [first = "", ...names] = words;
  if (first.includes("/") || !first.includes(",")) return parseNames(words);
  names.forEach(checkName);
  return [...new Set(first.split(",").map(parseKind))].map((info) => ({ info, names }));
}

/**
 * Reads `KIND NAME…`, `KIND/NAME…` or a mix of kinds in the second form.
 *
 * @throws {UsageError} an unknown kind, or a word that fits neither form
 */
export function parseNames(words: readonly string[]): readonly Named[] {
  const [first, ...rest] = words;
  if (first === undefined) throw new UsageError("read arguments: got none, want KIND [NAME…] or KIND/NAME…");
  if (first.includes(","))
    throw new UsageError(`read argument ${quote(first)}: want one kind; several in one command as KIND/NAME KIND/NAME`);
  if (!first.includes("/")) {
    rest.forEach(checkName);
    return [{ info: parseKind(first), names: rest }];
  }
  const byKind = new Map<string, { readonly info: KindInfo; readonly names: string[] }>();
  for (const word of words) {
    const slash = word.indexOf("/");
    const name = word.slice(slash + 1);
    if (slash < 1 || name === "")
      throw new UsageError(`read argument ${quote(word)}: want KIND/NAME${word === first ? "" : ", like the first one"}`);
    checkName(name);
    const info = parseKind(word.slice(0, slash));
    const named = byKind.get(info.kind) ?? { info, names: [] };
    named.names.push(name);
    byKind.set(info.kind, named);
  }
  return [...byKind.values()];
}

/**
 * Reads `KIND NAME` or `KIND/NAME`, and what follows.
 *
 * @throws {UsageError}
 */
export function parseOneName(words: readonly string[]): {
  readonly info: KindInfo;
  readonly name: string;
  readonly rest: readonly string[];
} {
  const [first = "", second, ...rest] = words;
  if (first.includes(",")) throw new UsageError(`read argument ${quote(first)}: want one kind`);
  if (first.includes("/")) {
    const [named] = parseNames([first]);
    // One word with a slash names one object.
    if (named?.names[0] !== undefined) return { info: named.info, name: named.names[0], rest: words.slice(1) };
  }
  if (first === "" || second === undefined) throw new UsageError("read arguments: want KIND NAME or KIND/NAME");
  checkName(second);
  return { info: parseKind(first), name: second, rest };
}

/**
 * Checks what `-n` says. Of several kinds it counts for those that have namespaces, as with kubectl.
 *
 * @throws {UsageError} where none of the kinds has namespaces, and for what is no namespace's name
 */
export function checkNamespace(named: readonly Pick<Named, "info">[], namespace: string | undefined): void {
  if (namespace === undefined) return;
  const kinds = named.map(({ info }) => info);
  if (!kinds.some(({ namespaced }) => namespaced)) {
    throw new UsageError(`use namespace ${quote(namespace)}: ${kinds.map(({ plural }) => plural).join(", ")} have no namespace`);
  }
  checkNamespaceName(namespace);
}

function checkName(name: string): void {
  if (!isPathStep(name)) throw new UsageError(`read arguments: got the name ${quote(name)}, which no object can have`);
}

/** Whether an object's path can have it as a step. */
export function isPathStep(text: string): boolean {
  return text !== "" && text !== "." && text !== "..";
}

/**
 * The place of an object that a command changes.
 *
 * @param namespace of what has one; what `-n` says of it was checked
 * @throws {UsageError} a kind that only the system writes
 */
export function toRef(info: KindInfo, name: string, namespace: string): ResourceRef {
  if (!isWritable(info)) throw new UsageError(`change ${info.plural}: only the system writes them`);
  return { kind: info.kind, name, ...(info.namespaced ? { namespace } : {}) };
}

/** Whether people may write resources of a kind. */
export function isWritable(info: KindInfo): info is KindInfo<Kind> {
  return info.kind !== "IPAMBlock";
}
