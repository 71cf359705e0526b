/** What `get` is asked for: by words, or by files. */

import { type KindInfo, KINDS } from "../../api/registry.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import type { LabelSelector } from "../arguments/label-selector.ts";
import { readDocuments } from "../documents/documents.ts";
import { requireValidDocuments } from "../documents/validation.ts";
import { UsageError } from "../failures/failure.ts";
import type { Cli } from "../io.ts";
import type { Format } from "../output/format.ts";
import { checkNamespace, isWritable, type Named, parseNamesOfKinds } from "../resources/name-arguments.ts";

/** Where to look and how to print. `namespace` and `allNamespaces` exclude each other; without `output` people get a table. */
export interface GetFlags {
  readonly filename?: readonly string[];
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output?: Format;
  readonly selector?: LabelSelector;
  readonly showLabels?: boolean;
  readonly noHeaders?: boolean;
  readonly watch?: boolean;
}

/** Objects of one kind that were asked for, and where they are looked for. */
export interface Asked extends Named {
  /** Of what is namespaced; undefined: all. */
  readonly namespace: string | undefined;
}

/** @throws {UsageError} for flags and words that exclude each other */
export async function readAsked(cli: Cli, flags: GetFlags, words: readonly string[]): Promise<readonly Asked[]> {
  if (flags.allNamespaces === true && flags.namespace !== undefined)
    throw new UsageError("use --namespace together with --all-namespaces: want one of them");
  const asked = flags.filename?.length ? await askedByFiles(cli, flags, flags.filename, words) : await askedByWords(cli, flags, words);
  if (flags.watch === true && asked.length > 1) throw new UsageError("use --watch with several kinds, or namespaces: want one");
  return asked;
}

async function askedByWords(cli: Cli, flags: GetFlags, words: readonly string[]): Promise<readonly Asked[]> {
  const named = parseNamesOfKinds(words);
  checkNamespace(named, flags.namespace);
  for (const { info, names } of named) {
    if (flags.selector !== undefined) checkSelectable(info, names);
    if (flags.allNamespaces === true && names.length > 0 && info.namespaced)
      throw new UsageError("use --all-namespaces with names: want one namespace");
  }
  const namespace = flags.allNamespaces === true ? undefined : (flags.namespace ?? (await defaultNamespaceOf(cli)));
  return named.map((one) => ({ ...one, namespace }));
}

function checkSelectable(info: KindInfo, names: readonly string[]): void {
  if (names.length > 0) throw new UsageError("use --selector with names: want one of them");
  if (!isWritable(info)) throw new UsageError(`use --selector with ${info.plural}: they have no labels`);
}

/** What files name, by kind and namespace. */
async function askedByFiles(cli: Cli, flags: GetFlags, filenames: readonly string[], words: readonly string[]): Promise<readonly Asked[]> {
  if (words.length > 0) throw new UsageError("read arguments: want either -f or KIND [NAME…]");
  if (flags.selector !== undefined) throw new UsageError("use --selector together with -f: want one of them");
  if (flags.allNamespaces === true) throw new UsageError("use --all-namespaces together with -f: want one of them");
  const read = await readDocuments(cli.io, filenames);
  const documents = requireValidDocuments(read, { ...flags, filename: filenames }, await defaultNamespaceOf(cli));
  const groups = Map.groupBy(documents, ({ resource: { kind, metadata } }) => `${kind} ${metadata.namespace ?? ""}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { kind, metadata } = first.resource;
    return [{ info: KINDS[kind], names: group.map(({ resource }) => resource.metadata.name), namespace: metadata.namespace }];
  });
}
