/** The name of this host. */

import { NetplugError } from "../lib/errors.ts";
import { linuxFiles } from "./files.ts";

const PATH = "/proc/sys/kernel/hostname";

/** As `hostname` prints it: short or fully qualified, however it was set. @throws {NetplugError} ioFailure */
export function readHostName(): string {
  const name = linuxFiles.readText(PATH)?.trimEnd();
  if (name === undefined || name === "") throw new NetplugError("ioFailure", `read host name from "${PATH}": there is none`);
  return name;
}
