/** The command line of the role. */

import { quote } from "../../lib/quote.ts";

/** What the arguments say. For a folder that is absent `openFolders()` has the default; `isOnce` may also come from SLEEP, see `readSettings()`. */
export interface Options {
  readonly binDir: string | undefined;
  readonly confDir: string | undefined;
  readonly isOnce: boolean;
}

/** What to do: install, or one of two questions to answer; `fault` says why the arguments mean nothing. */
type CommandLine =
  { readonly options: Options } | { readonly isHelpWanted: true } | { readonly isReadinessAsked: true } | { readonly fault: string };

/** What `--help` prints, on stderr. */
export const USAGE = `netplug install-cni [--bin-dir D] [--conf-dir D] [--once]
netplug install-cni --ready

Puts the plugin's executables, its kubeconfig and its network config onto a
node, then stays and keeps the kubeconfig's token fresh.

  --bin-dir D    folder of CNI plugins (default /host/opt/cni/bin)
  --conf-dir D   folder of network configs (default /host/etc/cni/net.d)
  --once         end when everything is in its place; nobody renews the token
  --ready        only say whether the installer that writes STATE_FILE is ready

The environment says the rest: see docs/install.md.
Exit status: 0 done, or ready; 1 failed, or not ready; 2 wrong usage.`;

/** Reads the arguments behind the role's name. */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const folders = new Map<string, string>();
  let isOnce = false;
  for (let at = 0; at < args.length; at++) {
    const [name = "", ...values] = (args[at] ?? "").split("=");
    if (name === "--help" || name === "-h") return { isHelpWanted: true };
    if (name === "--ready" && args.length === 1 && values.length === 0) return { isReadinessAsked: true };
    if (name === "--once" && values.length === 0) isOnce = true;
    else if (name === "--bin-dir" || name === "--conf-dir") {
      const isAttached = values.length > 0;
      const folder = isAttached ? values.join("=") : args[++at];
      if (folder === undefined || folder === "") return { fault: `${name}: got nothing, want a folder` };
      // Most likely the value was forgotten; `--bin-dir=--x` is unambiguous.
      if (!isAttached && folder.startsWith("--")) return { fault: `${name}: got ${quote(folder)}, want a folder` };
      folders.set(name, folder);
    } else return { fault: `got ${quote(args[at] ?? "")}, want --bin-dir, --conf-dir or --once, or --ready alone` };
  }
  return { options: { binDir: folders.get("--bin-dir"), confDir: folders.get("--conf-dir"), isOnce } };
}
