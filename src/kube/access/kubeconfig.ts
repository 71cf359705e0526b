/** Kubeconfig files: read, and merged as kubectl does it. */

import { messageOf, NetplugError } from "../../lib/errors.ts";
import { describeFolder } from "../../lib/folder-for-file.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import type { Entry } from "./fields.ts";
import { takeEntry, takeList, takeText } from "./fields.ts";

/** An entry and the file it came from, whose folder relative paths begin at. */
export interface KubeconfigEntry extends Entry {
  readonly path: string;
}

/** One file, or several merged. */
export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>;
  readonly users: ReadonlyMap<string, KubeconfigEntry>;
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>;
  /** For messages: `kubeconfig "/a"`, `kubeconfig "/a", "/b"`. */
  readonly label: string;
}

/**
 * Reads what a setting or `KUBECONFIG` names. The first file that has an entry, or a current context, has it for all.
 *
 * @param setting one path, or several with colons between them
 * @throws NetplugError invalidConfig naming the file
 */
export async function readKubeconfig(setting: string, files: Files): Promise<Kubeconfig> {
  const paths = splitPaths(setting, files);
  const read: Kubeconfig[] = [];
  for (const path of paths) {
    const text = readFile(path, files);
    if (text !== undefined) read.push(toKubeconfig(await parseDocument(text, path), path));
  }
  const [first, ...others] = read;
  if (first === undefined) {
    const label = paths.map((path) => quote(path)).join(", ");
    throw new NetplugError("invalidConfig", `read kubeconfig ${label === "" ? quote(setting) : label}: no such file`);
  }
  return others.length === 0 ? first : merge(first, others);
}

/** A colon may also be part of a file's name. */
function splitPaths(setting: string, files: Files): readonly string[] {
  if (!setting.includes(":") || files.exists(setting)) return [setting];
  return [...new Set(setting.split(":"))].filter((path) => path !== "");
}

function readFile(path: string, files: Files): string | undefined {
  try {
    return files.readText(path);
  } catch (cause) {
    const fault = describeFolder(path, files) ?? "it cannot be read";
    throw new NetplugError("invalidConfig", `read kubeconfig ${quote(path)}: ${fault}`, { cause, details: messageOf(cause) });
  }
}

/** JSON is YAML too, and much cheaper to read: `install-cni` writes it. */
async function parseDocument(text: string, path: string): Promise<unknown> {
  if (text.trimStart().startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      // YAML in braces.
    }
  }
  const { parseYaml } = await import("./yaml.ts");
  const parsed = parseYaml(text);
  if ("value" in parsed) return parsed.value;
  const place = parsed.faultLine === undefined ? "" : `line ${parsed.faultLine}: `;
  throw new NetplugError("invalidConfig", `read kubeconfig ${quote(path)}: ${place}it is no YAML`);
}

function toKubeconfig(document: unknown, path: string): Kubeconfig {
  const label = `kubeconfig ${quote(path)}`;
  // An empty file is an empty kubeconfig.
  const fields = document ?? {};
  if (!isJsonObject(fields)) throw new NetplugError("invalidConfig", `read ${label}: want a document with clusters, users and contexts`);
  const kind = fields["kind"];
  if (kind !== undefined && kind !== "" && kind !== "Config")
    throw new NetplugError("invalidConfig", `read ${label}: got a document of another kind, want "Config"`);
  const entry: Entry = { fields, label };
  return {
    clusters: readSection(entry, "clusters", "cluster", path),
    users: readSection(entry, "users", "user", path),
    contexts: readSection(entry, "contexts", "context", path),
    currentContext: takeText(entry, "current-context"),
    label,
  };
}

/** @param kind what one entry of the list is called, and the key of what it holds */
function readSection(document: Entry, list: string, kind: string, path: string): Map<string, KubeconfigEntry> {
  const section = new Map<string, KubeconfigEntry>();
  const listLabel = `${list} of ${document.label}`;
  for (const value of takeList(document, list)) {
    if (!isJsonObject(value)) throw new NetplugError("invalidConfig", `read ${listLabel}: want objects with a name`);
    const name = takeText({ fields: value, label: listLabel }, "name") ?? "";
    if (section.has(name)) throw new NetplugError("invalidConfig", `read ${listLabel}: got the name ${quote(name)} twice`);
    const label = `${kind} ${quote(name)} in ${document.label}`;
    section.set(name, { fields: takeEntry({ fields: value, label }, kind)?.fields ?? {}, label, path });
  }
  return section;
}

function merge(first: Kubeconfig, others: readonly Kubeconfig[]): Kubeconfig {
  const all = [first, ...others];
  const section = (name: "clusters" | "users" | "contexts"): Map<string, KubeconfigEntry> =>
    new Map(all.toReversed().flatMap((config) => [...config[name]]));
  return {
    currentContext: all.find(({ currentContext }) => currentContext !== undefined)?.currentContext,
    clusters: section("clusters"),
    users: section("users"),
    contexts: section("contexts"),
    label: `kubeconfig ${all.map(({ label }) => label.slice("kubeconfig ".length)).join(", ")}`,
  };
}
