/** `get`: objects as tables, JSON, YAML, names or columns of one's own choice. */

import type { KindInfo, Specs } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { describeRefused } from "../../lib/ip/refused-text.ts";
import { quote } from "../../lib/quote.ts";
import { withDatastore } from "../access/access.ts";
import { CommandFailed, EXIT } from "../failures/failure.ts";
import { type Cli, note, say } from "../io.ts";
import { toReportText } from "../output/json-yaml.ts";
import type { Format } from "../output/format.ts";
import { toWorkloadName } from "../output/columns.ts";
import { printResources } from "../output/print-resources.ts";
import { findResources } from "../resources/find-resources.ts";
import { isWritable } from "../resources/name-arguments.ts";
import { noteIfNeverInitialised } from "../resources/never-initialised.ts";
import { describeMissing, toListing } from "../resources/object-name.ts";
import { type Asked, type GetFlags, readAsked } from "./get-asked.ts";

/** Of what was asked for, what there is. */
interface Answer {
  readonly asked: Asked;
  readonly resources: readonly Resource<string>[];
}

/** Prints what exists and says what does not. */
export async function get(cli: Cli, flags: GetFlags, ...words: string[]): Promise<number> {
  const asked = await readAsked(cli, flags, words);
  return withDatastore(cli, async (datastore) => {
    const { answers, absent, broken, next } = await findAll(cli, datastore, asked, flags.selector);
    const [first] = answers;
    if (flags.watch === true && first !== undefined && absent.length === 0) {
      noteLeftOut(cli, broken);
      return await watchFrom(cli, datastore, { ...first, unreadable: broken }, flags);
    }
    print(cli, answers, flags);
    if (absent.length + broken.length === 0) {
      const isEmpty = answers.every(({ resources }) => resources.length === 0);
      if (isEmpty && (flags.output ?? TABLE).type === "table") await noteIfNeverInitialised(cli, datastore);
      return EXIT.done;
    }
    noteLeftOut(cli, broken);
    if (absent.length === 0) return EXIT.failed;
    const hint = asked.flatMap(describeNames).find((one) => one !== "") ?? "";
    throw new CommandFailed(`find ${absent.join(", ")}: there is none${hint}`, { next });
  });
}

function noteLeftOut(cli: Cli, broken: readonly string[]): void {
  for (const reason of broken) note(cli, `left out: ${reason}`);
}

/** All that was asked for. */
interface Found {
  /** Without those of which nothing is there that was named. */
  readonly answers: readonly Answer[];
  /** Titles of what was named and does not exist. */
  readonly absent: readonly string[];
  /** Why something cannot be read. */
  readonly broken: readonly string[];
  /** The command for whoever named what does not exist. */
  readonly next: string;
}

async function findAll(cli: Cli, datastore: Datastore, asked: readonly Asked[], selector: GetFlags["selector"]): Promise<Found> {
  const answers: Answer[] = [];
  const absent: string[] = [];
  const broken: string[] = [];
  let next: string | undefined;
  for (const one of asked) {
    const { resources, missing, unreadable } = await findResources(datastore, one, { namespace: one.namespace, selector }, cli);
    if (resources.length > 0 || one.names.length === 0) answers.push({ asked: one, resources });
    absent.push(...missing);
    broken.push(...unreadable);
    if (missing.length > 0) next ??= (await proposeEndpoints(cli, datastore, one)) ?? proposeListing(one.info);
  }
  return { answers, absent, broken, next: next ?? "get" };
}

/** What is to be said of names that nothing has: only blocks are known by their CIDR. */
function describeNames({ info, names }: Asked): readonly string[] {
  if (!isWritable(info)) return names.map(describeRefused);
  const { kind } = info;
  return names.flatMap((name) => describeMissing({ kind, name }) ?? []).map((reason) => `; ${reason}`);
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

/** What people get who do not choose. */
const TABLE: Format = { type: "table", wide: false };

/** How the objects of a kind are shown. */
function toLook({ info }: Asked, flags: GetFlags) {
  const { output = TABLE, showLabels: withLabels = false, noHeaders: withoutHeader = false } = flags;
  return { output, withNamespace: flags.allNamespaces === true && info.namespaced, withLabels, withoutHeader } as const;
}

/** Programs get one value, people a table for each kind. */
function print(cli: Cli, answers: readonly Answer[], flags: GetFlags): void {
  const { output: format = TABLE } = flags;
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
      const { info, namespace } = answer.asked;
      const where = info.namespaced && namespace !== undefined ? ` in namespace ${quote(namespace)}` : "";
      note(cli, `no ${info.plural} found${where}${selected}`);
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
