/** What may come next on a command line: asked by the shells' scripts as `__complete WORD… PARTIAL`. */

import { proposeCompletions } from "@stricli/core";
import type { Kind, Metadata } from "../api/resource.ts";
import { withDatastore } from "./access/access.ts";
import { buildCli } from "./app.ts";
import type { CliContext } from "./context.ts";
import type { Cli } from "./io.ts";
import { defaultNamespaceOf } from "./access/default-namespace.ts";
import { parseCommandLine, splitFlag, VALUE_FLAGS } from "./arguments/command-line.ts";
import { findKind, proposeKinds } from "./arguments/kind-names.ts";
import { isWritable } from "./resources/name-arguments.ts";

/** Taken out of the command line before the parser of commands sees it. */
const GLOBAL_OPTIONS: readonly Proposal[] = [
  { completion: "--config", brief: "datastore access" },
  { completion: "--kubeconfig", brief: "access to Kubernetes" },
  { completion: "--context", brief: "context of the kubeconfig" },
];

/** A person waits at the prompt: better no names than late ones. */
const NAMES_LIMIT_MS = 1_000;

/** Commands that take one name only. */
const COMMANDS_WITH_ONE_NAME: ReadonlySet<string> = new Set(["patch", "label"]);

/** A word of a command line, and what is said about it. */
interface Proposal {
  readonly completion: string;
  readonly brief: string;
}

/**
 * Proposals, one a line: the word, a tab, what it is. Whatever goes wrong gives none.
 *
 * @param argv the words so far without the program, the one that is being written last
 */
export async function complete(
  argv: readonly string[],
  { io, program }: Pick<Cli, "io" | "program">,
  context: Omit<CliContext, "cli" | "proposeNames" | "proposeNamesOf" | "proposeLabels" | "proposeNamespaces" | "proposePods">,
): Promise<string> {
  try {
    const { before, partial, attached } = splitPartial(argv);
    const { options, words } = parseCommandLine(before);
    const cli: Cli = { io: { ...io, stderr: { isTerminal: false, write: () => undefined, drained: async () => true } }, options, program };
    const proposeNames = (typed: string): Promise<readonly string[]> => proposeObjects(cli, words, typed);
    const proposeLabels = (typed: string): Promise<readonly string[]> => proposeLabelsOf(cli, words, typed);
    const proposals: readonly Proposal[] = await proposeCompletions(buildCli("netplugctl"), [...words, partial], {
      ...context,
      cli,
      proposeNames,
      proposeNamesOf: async (kind) => await listNames(cli, kind, undefined),
      proposeLabels,
      proposeNamespaces: async () => await listNamespaces(cli),
      proposePods: async (typed) => await listPods(cli, words, typed),
    });
    const isFlag = partial.startsWith("-");
    const globals = isFlag && attached === "" ? GLOBAL_OPTIONS.filter(({ completion }) => completion.startsWith(partial)) : [];
    return [...proposals, ...globals]
      .filter(({ completion }) => completion.startsWith("-") === isFlag)
      .map(({ completion, brief }) => `${attached}${completion}\t${brief}\n`)
      .join("");
  } catch {
    return "";
  }
}

/** The last word apart from the flag that it is attached to: `--output=j` and `-oj` ask for a value `j`. */
function splitPartial(argv: readonly string[]): {
  readonly before: readonly string[];
  readonly partial: string;
  readonly attached: string;
} {
  const word = argv.at(-1) ?? "";
  const before = argv.slice(0, -1);
  const [flag, value] = splitFlag(word);
  if (value === undefined) return { before, partial: word, attached: "" };
  return { before: [...before, flag], partial: value, attached: word.slice(0, word.length - value.length) };
}

/** The parser of commands keeps those proposals that begin with what is typed. */
async function proposeObjects(cli: Cli, words: readonly string[], typed: string): Promise<readonly string[]> {
  const [command = "", ...rest] = words;
  const { positional, namespace } = splitFlags(rest);
  const [first] = positional;
  const slash = typed.indexOf("/");
  const kindWord = slash > 0 && (first === undefined || first.includes("/")) ? typed.slice(0, slash) : first;
  if (kindWord === undefined) return command === "get" ? proposeFurtherKinds(typed) : proposeKinds();
  const info = findKind(kindWord);
  if (info === undefined || !isWritable(info) || (COMMANDS_WITH_ONE_NAME.has(command) && positional.length > 1)) return [];
  const names = await listNames(cli, info.kind, info.namespaced ? (namespace ?? (await defaultNamespaceOf(cli))) : undefined);
  const proposals = kindWord === first ? names : names.map((name) => `${kindWord}/${name}`);
  return proposals.filter((name) => !positional.includes(name));
}

/** The last of several may be being written: `ippools,ipr`. */
function proposeFurtherKinds(typed: string): readonly string[] {
  const before = typed.slice(0, typed.lastIndexOf(",") + 1);
  const given = new Set(before.split(",").map((word) => findKind(word)?.plural));
  return proposeKinds().flatMap((word) => (given.has(word) ? [] : [before + word]));
}

/** The last of a selector's requirements is being written: `zone=a,ra`. */
async function proposeLabelsOf(cli: Cli, [, ...rest]: readonly string[], typed: string): Promise<readonly string[]> {
  const { positional } = splitFlags(rest);
  const info = findKind(positional[0] ?? "");
  if (info === undefined || !isWritable(info)) return [];
  const before = typed.slice(0, typed.lastIndexOf(",") + 1);
  const labels = (await list(cli, info.kind, undefined)).flatMap(({ labels = {} }) => Object.entries(labels));
  const words = new Set(labels.map(([key, value]) => `${before}${key}=${value}`));
  return [...words].filter((word) => /^[\w.,/=-]+$/.test(word));
}

async function listNames(cli: Cli, kind: Kind, namespace: string | undefined): Promise<readonly string[]> {
  return (await list(cli, kind, namespace)).map(({ name }) => name).filter(isWord);
}

/** Those that have endpoints: nothing else of ours is namespaced. */
async function listNamespaces(cli: Cli): Promise<readonly string[]> {
  const namespaces = new Set((await list(cli, "WorkloadEndpoint", undefined)).flatMap(({ namespace }) => namespace ?? []));
  return [...namespaces].filter(isWord).toSorted();
}

/** Those of Kubernetes, also without an address: that is when somebody asks. None on etcd. */
async function listPods(cli: Cli, words: readonly string[], typed: string): Promise<readonly string[]> {
  const before = typed.slice(0, typed.indexOf("/") + 1);
  const namespace = before.slice(0, -1) || (splitFlags(words).namespace ?? (await defaultNamespaceOf(cli)));
  const signal = AbortSignal.timeout(NAMES_LIMIT_MS);
  const listed = await withDatastore(cli, async (_datastore, openKube) => {
    const { PODS } = await import("../kube/core-types.ts");
    return await (await openKube?.())?.list(PODS, { namespace, isMetadataOnly: true, signal });
  });
  return (listed?.items ?? []).map(({ metadata: { name } }) => before + name);
}

/** Somebody may have stored any name by hand: a shell gets only what is one word. */
function isWord(name: string): boolean {
  return /^[\w.-]+$/.test(name);
}

async function list(cli: Cli, kind: Kind, namespace: string | undefined): Promise<readonly Metadata[]> {
  const signal = AbortSignal.timeout(NAMES_LIMIT_MS);
  const query = { type: "list", kind, ...(namespace === undefined ? {} : { namespace }) } as const;
  const [stored] = await withDatastore(cli, (datastore) => datastore.read([query], { signal }));
  return stored.map(({ value }) => value.metadata);
}

/** The words that are neither flags nor their values, and the namespace of `-n`. */
function splitFlags(words: readonly string[]): { readonly positional: readonly string[]; readonly namespace: string | undefined } {
  const positional: string[] = [];
  let namespace: string | undefined;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (word === "-n" || word === "--namespace") namespace = words[++i];
    else if (word.startsWith("--namespace=")) namespace = word.slice("--namespace=".length);
    else if (VALUE_FLAGS.has(word)) i++;
    else if (!word.startsWith("-")) positional.push(word);
  }
  return { positional, namespace };
}
