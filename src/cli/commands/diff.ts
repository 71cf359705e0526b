/** `diff`: what `apply` would change. */

import { inFrontOf } from "../../datastore/in-front-of.ts";
import type { Datastore, Revision } from "../../datastore/datastore.ts";
import type { DocumentFlags } from "../documents/documents.ts";
import { EXIT } from "../failures/failure.ts";
import type { Cli } from "../io.ts";
import { toDifferences } from "../output/differences.ts";
import { applyResource } from "../resources/write.ts";
import { type Write, writeDocuments } from "./write-documents.ts";

/** Applies every document by the same rules, but for the commit, and shows what would have been written. */
export async function diff(cli: Cli, flags: DocumentFlags): Promise<number> {
  const { stdout } = cli.io;
  let isDifferent = false;
  const write: Write = async (target, resource, origin) => {
    const { outcome, before, resource: after } = await applyResource({ ...target, datastore: withoutCommits(target.datastore) }, resource);
    if (outcome !== "unchanged") {
      stdout.write(toDifferences(before, after, { origin, colour: stdout.isTerminal }));
      isDifferent = true;
    }
    return { outcome, isTold: true };
  };
  const status = await writeDocuments(cli, flags, { mayInitialise: false, mayChange: true, write });
  return isDifferent ? EXIT.different : status;
}

/** A datastore whose every commit seems to succeed, and does nothing. */
function withoutCommits(inner: Datastore): Datastore {
  return inFrontOf(inner, { commit: async () => ({ committed: true, revision: "" as Revision }) });
}
