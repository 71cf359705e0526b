import { expect, test } from "bun:test";
import type { Datastore } from "../../datastore/datastore.ts";
import { parseKind } from "../arguments/kind-names.ts";
import type { Cli } from "../io.ts";
import { watch } from "./watch.ts";

test("the line of what was read is wiped before the first row: the rows may go through another program to the same terminal", async () => {
  const done: string[] = [];
  const stdout = { isTerminal: false, write: (text: string) => void done.push(text), drained: async () => false };
  // nothing else of it is used: nobody reads on
  const cli = { io: { stdout, progress: { tell: () => undefined, wipe: () => void done.push("wipe") } } } as unknown as Cli;
  const look = { output: { type: "table", wide: false }, withNamespace: false, withLabels: false, withoutHeader: false } as const;
  const named = { info: parseKind("Tier"), names: [] };
  await watch(cli, {} as Datastore, { ...look, named, scope: { namespace: undefined }, found: [], unreadable: [] });
  expect(done).toEqual(["wipe", expect.stringMatching(/^EVENT +NAME/)]);
});
