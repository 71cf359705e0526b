/** `get`: objects as tables, JSON, YAML, names or columns of one's own choice. */

import { type KindInfo, KINDS } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import { quote } from "../../lib/quote.ts";
import { withDatastore } from "../access.ts";
import { CommandFailed, EXIT, UsageError } from "../failure.ts";
import { type Cli, note } from "../io.ts";
import type { LabelSelector } from "../label-selector.ts";
import type { Format } from "../output/format.ts";
import { defaultNamespaceOf } from "../namespace.ts";
import { printResources } from "../output/print-resources.ts";
import { checkNamespace, isWritable, type Named, parseNames } from "../resources/name-arguments.ts";
import { readDocuments } from "../resources/documents.ts";
import { findResources } from "../resources/find-resources.ts";
import { requireValid } from "../resources/validation.ts";
import { toListing } from "../resources/object-name.ts";

export interface GetFlags {
  readonly filename?: readonly string[];
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly output?: Format;
  readonly selector?: LabelSelector;
  readonly showLabels?: boolean;
  readonly noHeaders?: boolean;
}

/** Prints what exists and says what does not. */
export async function get(cli: Cli, flags: GetFlags, ...words: string[]): Promise<number> {
  if (flags.allNamespaces === true && flags.namespace !== undefined)
    throw new UsageError("use --namespace together with --all-namespaces: want one of them");
  if (flags.selector !== undefined && (flags.filename ?? []).length > 0)
    throw new UsageError("use --selector together with -f: want one of them");
  const named = await namedBy(cli, flags, words);
  for (const { info, names } of named) {
    checkNamespace(info, flags.namespace);
    if (flags.selector !== undefined) checkSelectable(info, names);
    if (flags.allNamespaces === true && names.length > 0 && info.namespaced)
      throw new UsageError("use --all-namespaces with names: want one namespace");
  }
  const namespace = flags.allNamespaces === true ? undefined : (flags.namespace ?? (await defaultNamespaceOf(cli)));
  return withDatastore(cli, async (datastore) => {
    const absent: string[] = [];
    let listing: string | undefined;
    for (const one of named) {
      const { resources, missing } = await findResources(datastore, one, { namespace, selector: flags.selector });
      if (resources.length > 0 || missing.length === 0) write(cli, one, resources, flags);
      absent.push(...missing);
      if (missing.length > 0) listing ??= isWritable(one.info) ? toListing(one.info.kind) : `get ${one.info.plural}`;
    }
    if (absent.length === 0) return EXIT.done;
    throw new CommandFailed(`find ${absent.join(", ")}: there is none`, { next: listing ?? "get" });
  });
}

function checkSelectable(info: KindInfo, names: readonly string[]): void {
  if (names.length > 0) throw new UsageError("use --selector with names: want one of them");
  if (!isWritable(info)) throw new UsageError(`use --selector with ${info.plural}: they have no labels`);
}

async function namedBy(cli: Cli, flags: GetFlags, words: readonly string[]): Promise<readonly Named[]> {
  if (flags.filename === undefined || flags.filename.length === 0) return parseNames(words);
  if (words.length > 0) throw new UsageError("read arguments: want either -f or KIND [NAME…]");
  const documents = requireValid(await readDocuments(cli.io, flags.filename), flags.namespace, await defaultNamespaceOf(cli));
  return documents.map(({ resource }) => ({ info: KINDS[resource.kind], names: [resource.metadata.name] }));
}

function write(cli: Cli, { info, names }: Named, resources: readonly Resource<string>[], flags: GetFlags): void {
  const format = flags.output ?? { type: "table", wide: false };
  if (resources.length === 0 && format.type === "table") {
    note(cli, `no ${info.plural} found${flags.selector === undefined ? "" : ` with --selector ${quote(flags.selector.text)}`}`);
    return;
  }
  const single = names.length === 1;
  const withNamespace = flags.allNamespaces === true && info.namespaced;
  const { showLabels: withLabels = false, noHeaders: withoutHeader = false } = flags;
  const colour = cli.io.stdout.isTerminal;
  cli.io.stdout.write(printResources(format, { info, resources, single, withNamespace, withLabels, withoutHeader, colour }));
}
