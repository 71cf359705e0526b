/** `label`: sets and removes labels of one object. */

import { quote } from "../../lib/quote.ts";
import { withDatastore } from "../access.ts";
import { EXIT, UsageError } from "../failure.ts";
import { type Cli, say } from "../io.ts";
import { defaultNamespaceOf } from "../namespace.ts";
import { parseOneName, toRef } from "../resources/name-arguments.ts";
import { toPathName } from "../resources/object-name.ts";
import { validate } from "../resources/validation.ts";
import { updateResource } from "../resources/write.ts";

export interface LabelFlags {
  readonly namespace?: string;
  /** Accepted because `kubectl` asks for it; a label that exists is always replaced. */
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
  const ref = toRef(info, name, flags.namespace, await defaultNamespaceOf(cli));
  const changes = rest.map(parseChange);
  if (changes.length === 0) throw new UsageError("read arguments: got no label, want KEY=VALUE or KEY-");
  const { outcome } = await withDatastore(cli, (datastore) =>
    updateResource({ datastore, io: cli.io }, ref, (current) => {
      const labels = new Map(Object.entries(current.metadata.labels ?? {}));
      for (const { key, value } of changes) {
        if (value === undefined) labels.delete(key);
        else labels.set(key, value);
      }
      const { labels: _, ...metadata } = current.metadata;
      return validate(
        { ...current, metadata: labels.size === 0 ? metadata : { ...metadata, labels: Object.fromEntries(labels) } },
        undefined,
      );
    }),
  );
  say(cli, `${toPathName(ref)} ${outcome === "configured" ? "labelled" : outcome}`);
  return EXIT.done;
}

function parseChange(word: string): LabelChange {
  const equals = word.indexOf("=");
  if (equals > 0) return { key: word.slice(0, equals), value: word.slice(equals + 1) };
  if (equals < 0 && word.endsWith("-") && word.length > 1) return { key: word.slice(0, -1), value: undefined };
  throw new UsageError(`read label ${quote(word)}: want KEY=VALUE to set or KEY- to remove`);
}
