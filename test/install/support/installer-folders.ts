/** Where a test lets `install-cni` write. */

import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of the test's own, with those of plugins and of network configs in it; the test removes it. */
export function makeInstallerFolders(): { readonly folder: string; readonly bin: string; readonly conf: string } {
  const folder = mkdtempSync(join(tmpdir(), "npgt-install-"));
  const [bin, conf] = [join(folder, "bin"), join(folder, "net.d")];
  mkdirSync(bin);
  mkdirSync(conf);
  return { folder, bin, conf };
}
