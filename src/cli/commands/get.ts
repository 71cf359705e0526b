/** `get`: objects as tables, JSON, YAML, names or columns of one's own choice. */

import { type KindInfo, KINDS, type Specs } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { withDatastore } from "../access/access.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import type { LabelSelector } from "../arguments/label-selector.ts";
import { CommandFailed, EXIT, UsageError } from "../failure.ts";
import { type Cli, note, say } from "../io.ts";
import { toReportText } from "../output/json-yaml.ts";
import type { Format } from "../output/format.ts";
import { toWorkloadName } from "../output/columns.ts";
import { printResources } from "../output/print-resources.ts";
import { readValidDocuments } from "../documents/validation.ts";
import { findResources } from "../resources/find-resources.ts";
import { checkNamespace, isWritable, type Named, parseNamesOfKinds } from "../resources/name-arguments.ts";
import { noteIfNeverInitialised } from "../resources/never-initialised.ts";
import { toListing } from "../resources/object-name.ts";

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
interface Asked extends Named {
  /** Of what is namespaced; undefined: all. */
  readonly namespace: string | undefined;
}

interface Answer {
  readonly asked: Asked;
  readonly resources: readonly Resource<string>[];
}

/** Prints what exists and says what does not. */
export async function get(cli: Cli, flags: GetFlags, ...words: string[]): Promise<number> {
  if (flags.allNamespaces === true && flags.namespace !== undefined)
    throw new UsageError("use --namespace together with --all-namespaces: want one of them");
  const asked = flags.filename?.length ? await askedByFiles(cli, flags, words) : await askedByWords(cli, flags, words);
  if (flags.watch === true && asked.length > 1) throw new UsageError("use --watch with several kinds, or namespaces: want one");
  return withDatastore(cli, async (datastore) => {
    const answers: Answer[] = [];
    const absent: string[] = [];
    const broken: string[] = [];
    let listing: string | undefined;
    for (const one of asked) {
      const scope = { namespace: one.namespace, selector: flags.selector };
      const { resources, missing, unreadable } = await findResources(datastore, one, scope, cli);
      if (resources.length > 0 || one.names.length === 0) answers.push({ asked: one, resources });
      absent.push(...missing);
      broken.push(...unreadable);
      if (missing.length > 0) listing ??= (await proposeEndpoints(cli, datastore, one)) ?? proposeListing(one.info);
    }
    const [first] = answers;
    if (flags.watch === true && first !== undefined && absent.length === 0) {
      for (const reason of broken) note(cli, `left out: ${reason}`);
      return await watchFrom(cli, datastore, { ...first, unreadable: broken }, flags);
    }
    print(cli, answers, flags);
    const isEmpty = answers.every(({ resources }) => resources.length === 0);
    if (isEmpty && flags.output === undefined && absent.length + broken.length === 0) await noteIfNeverInitialised(cli, datastore);
    if (absent.length === 0 && broken.length === 0) return EXIT.done;
    for (const reason of broken) note(cli, `left out: ${reason}`);
    if (absent.length === 0) return EXIT.failed;
    throw new CommandFailed(`find ${absent.join(", ")}: there is none`, { next: listing ?? "get" });
  });
}

function proposeListing(info: KindInfo): string {
  return isWritable(info) ? toListing(info.kind) : `get ${info.plural}`;
}

/** Letters of a container's ID that its runtime shows. */
const SHORT_ID = 12;

/** The command for whoever names endpoints as the column `WORKLOAD` does, or the container's runtime. */
async function proposeEndpoints(cli: Cli, datastore: Datastore, { info, names, namespace }: Asked): Promise<string | undefined> {
  if (info.kind !== "WorkloadEndpoint" || namespace === undefined) return undefined;
  // Whoever may read one endpoint need not be allowed to list them.
  const { resources } = await findResources(datastore, { info, names: [] }, { namespace }, cli).catch((thrown: unknown) => {
    if (!(thrown instanceof NetplugError)) throw thrown;
    return { resources: [] };
  });
  const meant = resources.filter((resource) => {
    const spec = resource.spec as Specs["WorkloadEndpoint"];
    return names.some((name) => name === toWorkloadName(spec) || (name.length >= SHORT_ID && isBeginning(name, spec.containerID)));
  });
  return meant.length === 0 ? undefined : ["get", info.plural, "-n", namespace, ...meant.map(({ metadata }) => metadata.name)].join(" ");
}

function isBeginning(word: string, id: unknown): boolean {
  return typeof id === "string" && id.startsWith(word);
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
async function askedByFiles(cli: Cli, flags: GetFlags, words: readonly string[]): Promise<readonly Asked[]> {
  if (words.length > 0) throw new UsageError("read arguments: want either -f or KIND [NAME…]");
  if (flags.selector !== undefined) throw new UsageError("use --selector together with -f: want one of them");
  if (flags.allNamespaces === true) throw new UsageError("use --all-namespaces together with -f: want one of them");
  const documents = await readValidDocuments(cli, flags.filename ?? [], flags.namespace);
  const groups = Map.groupBy(documents, ({ resource: { kind, metadata } }) => `${kind} ${metadata.namespace ?? ""}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { kind, metadata } = first.resource;
    return [{ info: KINDS[kind], names: group.map(({ resource }) => resource.metadata.name), namespace: metadata.namespace }];
  });
}

async function watchFrom(
  cli: Cli,
  datastore: Datastore,
  { asked, resources, unreadable }: Answer & { readonly unreadable: readonly string[] },
  flags: GetFlags,
): Promise<number> {
  const { watch } = await import("./watch.ts");
  return await watch(cli, datastore, {
    named: asked,
    scope: { namespace: asked.namespace, selector: flags.selector },
    found: resources,
    unreadable,
    ...toLook(asked, flags),
  });
}

/** How the objects of a kind are shown. */
function toLook({ info }: Asked, flags: GetFlags) {
  const { output = { type: "table", wide: false }, showLabels: withLabels = false, noHeaders: withoutHeader = false } = flags;
  return { output, withNamespace: flags.allNamespaces === true && info.namespaced, withLabels, withoutHeader } as const;
}

/** Programs get one value, people a table for each kind. */
function print(cli: Cli, answers: readonly Answer[], flags: GetFlags): void {
  const format = flags.output ?? { type: "table", wide: false };
  if (answers.length > 1 && (format.type === "json" || format.type === "yaml")) {
    const items = answers.flatMap(({ resources }) => resources);
    cli.io.stdout.write(toReportText(format.type, { apiVersion: "v1", kind: "List", items }));
    return;
  }
  const hasGaps = format.type !== "name" && flags.noHeaders !== true;
  let isFirst = true;
  for (const answer of answers) {
    if (answer.resources.length === 0 && format.type === "table") {
      const selected = flags.selector === undefined ? "" : ` with --selector ${quote(flags.selector.text)}`;
      note(cli, `no ${answer.asked.info.plural} found${selected}`);
      continue;
    }
    if (hasGaps && !isFirst) say(cli, "");
    printKind(cli, answer, flags);
    isFirst = false;
  }
}

function printKind(cli: Cli, { asked, resources }: Answer, flags: GetFlags): void {
  const { info, names } = asked;
  const { output, ...look } = toLook(asked, flags);
  const single = names.length === 1;
  const colour = cli.io.stdout.isTerminal;
  cli.io.stdout.write(printResources(output, { info, resources, single, ...look, colour }));
}
