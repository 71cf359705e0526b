/** One of many processes that share a log: writes numbered lines and tells on stdout what went wrong. */

import { linuxLogFiles } from "../../src/linux/log-files.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { openLogFile } from "../../src/lib/log/log-file.ts";
import { createLog } from "../../src/lib/log/log.ts";

const [path = "", writer = "", lines = "0", maxSizeBytes = "0", maxCount = "0"] = process.argv.slice(2);

using file = openLogFile({
  path,
  files: linuxLogFiles,
  clock: systemClock,
  maxSizeBytes: Number(maxSizeBytes),
  maxAgeMs: 86_400_000,
  maxCount: Number(maxCount),
  onFailure: (message) => console.log(message),
});
const log = createLog({ clock: systemClock, level: "INFO", sinks: [file], fields: { containerID: writer } });
for (let i = 0; i < Number(lines); i++) log.info("line", { number: i, padding: "x".repeat((i * 37) % 300) });
