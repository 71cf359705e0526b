/** For tests: a log that writes nothing. */

import { createLog, type Log } from "../../src/lib/log/log.ts";

export const silentLog: Log = createLog({ clock: { now: () => 0 }, level: "ERROR", sinks: [] });
