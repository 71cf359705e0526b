/** Where things are in the checkout and outside of it. */

import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** The checkout. */
export const repositoryRoot: string = dirname(import.meta.dir);

/** The pinned tools of package-lock.json. */
export function packageTool(name: string): string {
  return join(repositoryRoot, "node_modules", ".bin", name);
}

/** What is expensive to make and the same for every clone: `$XDG_CACHE_HOME/netplug`, else `~/.cache/netplug`. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const xdg = env["XDG_CACHE_HOME"];
  const base = xdg !== undefined && xdg.startsWith("/") ? xdg : join(homedir(), ".cache");
  return join(base, "netplug");
}
