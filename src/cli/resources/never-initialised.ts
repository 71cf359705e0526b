/** A datastore that was never initialised looks like an empty one; it may be another one than was meant. */

import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { type Cli, note } from "../io.ts";
import { toCommandLine } from "../failures/suggested-commands.ts";

/** Tells what to do about it. */
export function noteNeverInitialised(cli: Cli): void {
  note(cli, `the datastore was never initialised\nnext: ${toCommandLine(cli, "init")}`);
}

/** The same where nothing was found in it, if that is why. @returns whether it is */
export async function noteIfNeverInitialised(cli: Cli, datastore: Datastore): Promise<boolean> {
  const isKnown = await datastore.read([CLUSTER_INFORMATION]).then(
    ([information]) => information !== undefined,
    (thrown: unknown) => {
      // Whoever may look for what was not found need not be allowed this.
      if (thrown instanceof NetplugError) return true;
      throw thrown;
    },
  );
  if (!isKnown) noteNeverInitialised(cli);
  return !isKnown;
}
