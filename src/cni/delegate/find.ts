/** Where a delegate's executable is. */

import { NetplugError } from "../../lib/errors.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";

/** Names of this executable: as its own delegate it would call itself again and again, until the node is full of processes. */
const OWN_NAMES = ["netplug", "netplugctl", "kubectl-netplug"];

/**
 * The first executable of this name in the folders of `CNI_PATH`.
 *
 * @throws NetplugError invalidConfig for a name that is no file name or this plugin's own, badEnvironment without `CNI_PATH`, delegateFailed when no folder has it
 * @see CNI SPEC 1.1.0, section 2, "CNI_PATH"
 */
export function findDelegate(type: string, cniPath: string | undefined, files: Pick<Files, "isExecutableFile">): string {
  // oxlint-disable-next-line no-control-regex -- a NUL would end the path early
  if (type === "" || type === "." || type === ".." || /[/\u0000]/.test(type)) {
    throw new NetplugError("invalidConfig", `find delegate: got "ipam.type" ${quote(type)}, want the file name of a plugin without "/"`);
  }
  if (OWN_NAMES.includes(type)) {
    throw new NetplugError("invalidConfig", `find delegate: got "ipam.type" ${quote(type)}, which is no IPAM plugin; want "netplug-ipam"`);
  }
  const folders = (cniPath ?? "").split(":").filter((folder) => folder !== "");
  if (folders.length === 0) {
    throw new NetplugError("badEnvironment", `find delegate ${quote(type)}: CNI_PATH is not set; the runtime must name the plugin folders`);
  }
  for (const folder of folders) {
    const path = `${folder.replace(/\/+$/, "")}/${type}`;
    // A relative folder would depend on the runtime's working directory.
    if (path.startsWith("/") && files.isExecutableFile(path)) return path;
  }
  throw new NetplugError(
    "delegateFailed",
    `find delegate ${quote(type)}: no executable file of that name in ${folders.map(quote).join(", ")} (CNI_PATH); install it there`,
  );
}
