/** The file that says how datastores are reached: `NetplugAPIConfig`. */

import { API_VERSION } from "../../api/resource.ts";
import { closestName } from "../../api/schema/closest.ts";
import { DATASTORE_VARIABLES, type DatastoreSettings, type SettingName } from "../../datastore/config/datastore-settings.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import { toSourceText } from "../../lib/source-name.ts";
import { CommandFailed } from "../failures/failure.ts";
import type { CliIo } from "../io.ts";
import { parseYaml, YamlError } from "../documents/yaml.ts";

/** Read when it exists and no other file is named. */
export const DEFAULT_CONFIG_FILE = "/etc/netplug/netplugctl.cfg";

const CONFIG_KIND = "NetplugAPIConfig";

/** Many times the largest one. */
const MAX_BYTES = 1024 * 1024;

/** Gives to each who asks what {@link settingsOfFile} read once: a pipe gives its content to one reader. */
export function fileSettingsOf(io: CliIo, named: string | undefined): () => Promise<DatastoreSettings> {
  let reading: Promise<DatastoreSettings> | undefined;
  return () => (reading ??= settingsOfFile(io, named));
}

/** @throws {CommandFailed} a file that is missing although somebody named it, or that makes no sense */
export async function settingsOfFile(io: CliIo, named: string | undefined): Promise<DatastoreSettings> {
  const path = named ?? DEFAULT_CONFIG_FILE;
  const text = await io.readInput(path, MAX_BYTES, "config file");
  if (text !== undefined) return await parseConfigFile(toSourceText(path), text);
  if (named !== undefined) throw new CommandFailed(`read config file ${toSourceText(path)}: there is no such file`);
  return {};
}

/** Messages name keys and never values: a password may be among them. */
async function parseConfigFile(name: string, text: string): Promise<DatastoreSettings> {
  const fail = (fault: string): never => {
    throw new CommandFailed(`read config file ${name}: ${fault}`);
  };
  const [document, ...others] = await parseYaml(text).catch((thrown: unknown) => {
    if (!(thrown instanceof YamlError)) throw thrown;
    return fail(thrown.what === "syntax" ? `${thrown.place}: it is no YAML` : thrown.message);
  });
  if (others.length > 0) fail(`got ${others.length + 1} documents, want one`);
  if (!isJsonObject(document)) return fail(`got ${quoteKind(document)}, want an object of kind ${CONFIG_KIND}`);
  if (document["kind"] !== CONFIG_KIND) fail(`kind: got ${quoteValue(document["kind"])}, want "${CONFIG_KIND}"`);
  if ((document["apiVersion"] ?? API_VERSION) !== API_VERSION)
    fail(`apiVersion: got ${quoteValue(document["apiVersion"])}, want "${API_VERSION}"`);
  const spec = document["spec"] ?? {};
  if (!isJsonObject(spec)) return fail(`spec: got ${quoteKind(spec)}, want an object`);
  const known = Object.keys(DATASTORE_VARIABLES);
  const settings: { [K in SettingName]?: string } = {};
  for (const [key, value] of Object.entries(spec)) {
    if (!known.includes(key)) fail(`spec: unknown field ${quote(key)}; the nearest known one is "${closestName(key, known) ?? ""}"`);
    if (value === null || value === "") continue;
    // The keys were just checked.
    settings[key as SettingName] = toText(value) ?? fail(`spec.${key}: got ${quoteKind(value)}, want a text; put it in quotes`);
  }
  return settings;
}

/** Endpoints may be a list. A number is refused: YAML reads `007` as 7, which is no longer the password that was written. */
function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join(",") : undefined;
}

function quoteKind(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
