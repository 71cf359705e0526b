/** What may come next on a command line where the datastore knows it. */

import type { Kind, Metadata } from "../../api/resource.ts";
import { withDatastore } from "../access/access.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import { VALUE_FLAGS } from "../grammar/command-line.ts";
import { findKind, proposeKinds } from "../arguments/kind-names.ts";
import type { Proposals } from "../grammar/context.ts";
import type { Cli } from "../io.ts";
import { isWritable } from "../resources/name-arguments.ts";

/** A person waits at the prompt: better no names than late ones. */
const NAMES_LIMIT_MS = 1_000;

/** Commands that take one name only. */
const COMMANDS_WITH_ONE_NAME: ReadonlySet<string> = new Set(["patch", "label"]);

/** The words of a command line so far, apart. */
interface WordsSoFar {
  readonly command: string;
  /** Those behind the command that are neither flags nor their values. */
  readonly positional: readonly string[];
  /** That of `-n`. */
  readonly namespace: string | undefined;
}

/** Proposals for what follows on these words. The parser of commands keeps those that begin with what is typed. */
export function proposalsOf(cli: Cli, words: readonly string[]): Proposals {
  const soFar = splitWords(words);
  return {
    objects: (typed) => listObjects(cli, soFar, typed),
    names: (kind) => listNames(cli, kind, undefined),
    labels: (typed) => listLabels(cli, soFar, typed),
    namespaces: () => listNamespaces(cli),
    pods: (typed) => listPods(cli, soFar, typed),
  };
}

function splitWords([command = "", ...rest]: readonly string[]): WordsSoFar {
  const positional: string[] = [];
  let namespace: string | undefined;
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i] ?? "";
    if (word === "-n" || word === "--namespace") namespace = rest[++i];
    else if (VALUE_FLAGS.has(word)) i++;
    else if (!word.startsWith("-")) positional.push(word);
  }
  return { command, positional, namespace };
}

async function listObjects(cli: Cli, { command, positional, namespace }: WordsSoFar, typed: string): Promise<readonly string[]> {
  const [first] = positional;
  const slash = typed.indexOf("/");
  const kindWord = slash > 0 && (first === undefined || first.includes("/")) ? typed.slice(0, slash) : first;
  if (kindWord === undefined) return command === "get" ? proposeFurtherKinds(typed) : proposeKinds("written");
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
  return proposeKinds("shown").flatMap((word) => (given.has(word) ? [] : [before + word]));
}

/** The last of a selector's requirements is being written: `zone=a,ra`. */
async function listLabels(cli: Cli, { positional }: WordsSoFar, typed: string): Promise<readonly string[]> {
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
async function listPods(cli: Cli, soFar: WordsSoFar, typed: string): Promise<readonly string[]> {
  const before = typed.slice(0, typed.indexOf("/") + 1);
  const namespace = before.slice(0, -1) || (soFar.namespace ?? (await defaultNamespaceOf(cli)));
  const signal = AbortSignal.timeout(NAMES_LIMIT_MS);
  const listed = await withDatastore(cli, async (_datastore, openKube) => {
    const { PODS } = await import("../../kube/core-types.ts");
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
