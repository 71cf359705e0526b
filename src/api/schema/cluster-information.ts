/** The schema of what a cluster is. */

import * as v from "valibot";
import { boolean, matching, text } from "./fields.ts";

/** Checks what people change in it, such as the lock; `initialise()` makes it without this check. */
export const clusterInformationSpec = v.object({
  clusterGUID: v.exactOptional(matching(/^[0-9a-f]{32}$/, "32 hexadecimal digits in lower case")),
  clusterType: v.exactOptional(text),
  netplugVersion: v.exactOptional(text),
  datastoreReady: v.exactOptional(boolean),
  datastoreFrozen: v.exactOptional(boolean),
});
