/** Files that a kubeconfig names, or holds itself. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { PemSource } from "./access.ts";
import { takeText } from "./fields.ts";
import type { KubeconfigEntry } from "./kubeconfig.ts";

/** `<name>-data` is base64 of PEM and beats the file that `<name>` names. */
export function takePem(entry: KubeconfigEntry, name: string): PemSource | undefined {
  const data = takeText(entry, `${name}-data`);
  if (data !== undefined) {
    const label = `${name}-data of ${entry.label}`;
    return { text: decodeBase64(data, label), label };
  }
  const named = takeText(entry, name);
  if (named === undefined) return undefined;
  const file = resolvePath(named, entry);
  return { file, label: `${name} ${quote(file)} of ${entry.label}` };
}

function decodeBase64(text: string, label: string): string {
  try {
    return atob(text);
  } catch {
    throw new NetplugError("invalidConfig", `read ${label}: it is no base64`);
  }
}

/** Relative paths begin at the folder of the file that names them. */
export function resolvePath(path: string, { path: origin }: KubeconfigEntry): string {
  return path.startsWith("/") ? path : `${origin.slice(0, origin.lastIndexOf("/") + 1)}${path}`;
}
