/** `get --watch`: what is there, and then what changes, until it is interrupted. */

import type { KindInfo } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import type { NetplugError } from "../../lib/errors.ts";
import { EXIT, UsageError } from "../failures/failure.ts";
import { type Cli, note } from "../io.ts";
import { toJsonLine, toYamlText } from "../output/json-yaml.ts";
import type { Format } from "../output/format.ts";
import { toColumns } from "../output/print-resources.ts";
import { GrowingTable } from "../output/table.ts";
import type { Scope } from "../resources/find-resources.ts";
import type { Named } from "../resources/name-arguments.ts";
import { type Change, watchChanges } from "../resources/watch-changes.ts";

/** What is watched, and how it is shown. */
export interface Watched {
  readonly named: Named;
  readonly scope: Scope;
  /** What was there before. */
  readonly found: readonly Resource<string>[];
  /** Why something that is there could not be read, as it was said. */
  readonly unreadable: readonly string[];
  readonly output: Format;
  readonly withNamespace: boolean;
  readonly withLabels: boolean;
  readonly withoutHeader: boolean;
}

/** Ends when nobody reads any more; else by the signal that ends the process. */
export async function watch(cli: Cli, datastore: Datastore, watched: Watched): Promise<number> {
  const { named, scope, found, unreadable } = watched;
  const { stdout } = cli.io;
  const toText = printerOf(watched, named.info, stdout.isTerminal);
  // The line of what was read would stay for as long as the watch lasts.
  cli.io.progress?.wipe();
  stdout.write(toText(found.map((object) => ({ type: "ADDED", object }))));
  if (!(await stdout.drained())) return EXIT.done;
  const ending = new AbortController();
  const onUnreadable = (reason: string): void => {
    if (!unreadable.some((said) => said.startsWith(reason))) note(cli, `left out: ${reason}`);
  };
  const onInterruption = (failure: NetplugError | undefined): void => {
    if (failure === undefined) note(cli, "watched again: what has changed meanwhile follows");
    else note(cli, `warning: not watched for the moment, so what changes is shown later: ${failure.message}`);
  };
  const start = { found, signal: ending.signal, onUnreadable, onInterruption };
  for await (const changes of watchChanges(datastore, named, scope, start)) {
    if (changes.length > 0) stdout.write(toText(changes));
    if (!(await stdout.drained())) ending.abort();
  }
  return EXIT.done;
}

/** Wide enough for all events: the header, and what was there before, stand in line with what changes later. */
const toEventCell = (text: string): string => text.padEnd("MODIFIED".length);

/** People get a line for each change, programs a value that says which it is: as a watch of the Kubernetes API does. */
function printerOf(watched: Watched, info: KindInfo, colour: boolean): (changes: readonly Change[]) => string {
  const { output } = watched;
  switch (output.type) {
    case "json":
      return (changes) => changes.map(toJsonLine).join("");
    case "yaml":
      return (changes) => changes.map((change) => `---\n${toYamlText(change)}`).join("");
    case "name":
      throw new UsageError("use --watch with --output=name: want a table, json or yaml, which say what has become of an object");
    case "table":
    case "custom-columns": {
      const columns = toColumns(output, { ...watched, info });
      const { withoutHeader } = watched;
      const table = new GrowingTable([toEventCell("EVENT"), ...columns.map(({ heading }) => heading)], { colour, withoutHeader });
      return (changes) =>
        table.add(changes.map(({ type, object }) => [toEventCell(type), ...columns.map((column) => column.cell(object))]));
    }
  }
}
