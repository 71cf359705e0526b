/** `label`: sets and removes labels of one object. */

import type { ResourceRef } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import { withDatastore } from "../access/access.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import { CommandFailed, EXIT, UsageError } from "../failures/failure.ts";
import { toWord } from "../failures/suggested-commands.ts";
import { type Cli, say } from "../io.ts";
import { validateChanged } from "../resources/cluster-version.ts";
import { checkNamespace, parseOneName, toRef } from "../resources/name-arguments.ts";
import { toPathName, toTitle } from "../resources/object-name.ts";
import { updateResource } from "../resources/write.ts";

/** Where the object is, and whether a label may get another value; the words name the object and the changes. */
export interface LabelFlags {
  readonly namespace?: string;
  /** Without it a label that has another value keeps it, and nothing is written. */
  readonly overwrite?: boolean;
}

/** A change of one label; without a value it is removed. */
interface LabelChange {
  readonly key: string;
  readonly value: string | undefined;
}

/** Changes labels in one write. */
export async function label(cli: Cli, flags: LabelFlags, ...words: string[]): Promise<number> {
  const { info, name, rest } = parseOneName(words);
  // No name holds "=", but some end in "-": after the kind and a slash it is one.
  if (/.=/.test(name) || (words.length === 2 && rest.length === 0 && /.-$/.test(name)))
    throw new UsageError(`read arguments: got the label ${quote(name)} and no name, want KIND NAME or KIND/NAME before it`);
  checkNamespace([{ info }], flags.namespace);
  const ref = toRef(info, name, flags.namespace ?? (await defaultNamespaceOf(cli)));
  const changes = rest.map(parseChange);
  if (changes.length === 0) throw new UsageError("read arguments: got no label, want KEY=VALUE or KEY-");
  requireOnce(changes);
  const { outcome } = await withDatastore(cli, (datastore) =>
    updateResource({ datastore, io: cli.io }, ref, (current) => {
      const present = new Map(Object.entries(current.metadata.labels ?? {}));
      const labels = new Map(present);
      for (const { key, value } of changes) {
        if (value === undefined) labels.delete(key);
        else labels.set(key, value);
      }
      const changed = validateChanged(current, { ...current, metadata: { ...current.metadata, labels: Object.fromEntries(labels) } });
      // After that: what would be refused all the same is not proposed.
      if (flags.overwrite !== true) requireNew(ref, present, changes, toOverwriting(flags, words));
      return changed;
    }),
  );
  say(cli, `${toPathName(ref)} ${outcome === "configured" ? "labelled" : outcome}`);
  return EXIT.done;
}

/** @throws {UsageError} of two changes of one label one would be lost */
function requireOnce(changes: readonly LabelChange[]): void {
  const keys = changes.map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) < index);
  if (twice !== undefined) throw new UsageError(`read arguments: got label ${quote(twice)} twice, want it once`);
}

/** As kubectl has it: pools are chosen by labels, and a slip of the hand must not move a node. @param next the command that does it all the same */
function requireNew(ref: ResourceRef, labels: ReadonlyMap<string, string>, changes: readonly LabelChange[], next: string): void {
  for (const { key, value } of changes) {
    const present = labels.get(key);
    if (value === undefined || present === undefined || present === value) continue;
    throw new CommandFailed(
      `label ${toTitle(ref)}: ${quote(key)} is ${quote(present)} already; give --overwrite to make it ${quote(value)}`,
      { next },
    );
  }
}

function toOverwriting({ namespace }: LabelFlags, words: readonly string[]): string {
  const where = namespace === undefined ? [] : ["-n", namespace];
  return ["label", ...[...words, ...where].map(toWord), "--overwrite"].join(" ");
}

function parseChange(word: string): LabelChange {
  const equals = word.indexOf("=");
  if (equals > 0) return { key: word.slice(0, equals), value: word.slice(equals + 1) };
  if (equals < 0 && word.endsWith("-") && word.length > 1) return { key: word.slice(0, -1), value: undefined };
  throw new UsageError(`read label ${quote(word)}: want KEY=VALUE to set or KEY- to remove`);
}
