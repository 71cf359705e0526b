/** The one datastore error that somebody catches. */

import { NetplugError } from "../lib/errors.ts";

/**
 * A commit was sent and its reply never came: it may or may not have been applied. A caller that catches this reads again
 * before deciding what to do.
 */
export class OutcomeUnknown extends NetplugError {
  override readonly name = "OutcomeUnknown";

  constructor(message: string, cause?: unknown) {
    super("tryAgainLater", message, { cause });
  }
}
