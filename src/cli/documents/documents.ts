/** Reads objects from files, folders and stdin: YAML or JSON, several documents, lists. */

import { isJsonObject, JsonError, parseJson } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import { toSourceName } from "../../lib/source-name.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { CommandFailed } from "../failures/failure.ts";
import type { CliIo } from "../io.ts";
import { parseYaml, requireUniqueKeys, YamlError } from "./yaml.ts";

/** Of the commands that want files: where documents are, `-` for stdin, and the namespace of those that name none. */
export interface DocumentFlags {
  readonly filename: readonly string[];
  readonly namespace?: string;
}

/** One object as it was written. */
export interface InputDocument {
  readonly value: unknown;
  /** Where it was read, for messages: `pools.yaml, document 2`. */
  readonly origin: string;
}

/** Largest input that is read, in bytes, and so in characters; a cluster's whole configuration is far smaller. */
const MAX_INPUT = 16 * 1024 * 1024;

/**
 * Reads everything that `-f` names: files, `-` for stdin, folders (their `.yaml`, `.yml` and `.json` files by name).
 *
 * @throws {CommandFailed} what cannot be read, or holds no object
 */
export async function readDocuments(io: CliIo, sources: readonly string[]): Promise<readonly InputDocument[]> {
  const documents: InputDocument[] = [];
  for (const source of sources) {
    for (const { name, text } of await readSource(io, source)) {
      for (const document of await parseDocuments(text, name)) documents.push(document);
    }
  }
  if (documents.length === 0) {
    const ofFolder = sources.some((source) => source !== "-" && listFolder(io, source) !== undefined)
      ? "; of a folder the files .yaml, .yml and .json are read, and no folders in it"
      : "";
    throw new CommandFailed(`read ${sources.map(toSourceName).join(", ")}: got no object, want at least one in YAML or JSON${ofFolder}`);
  }
  return documents;
}

/**
 * Splits a text into its objects. Empty documents are skipped, lists (`kind` ends in `List`, with `items`) give their items.
 *
 * @throws {CommandFailed} text that is neither YAML nor JSON
 */
async function parseDocuments(text: string, name: string): Promise<readonly InputDocument[]> {
  const values = await parseValues(text, name);
  return values.flatMap((value, index) => {
    const origin = values.length === 1 ? name : `${name}, document ${index + 1}`;
    if (value === null) return [];
    if (!isList(value)) return [{ value, origin }];
    return value.items.map((item, number) => ({ value: item, origin: `${origin}, item ${number + 1}` }));
  });
}

async function readSource(io: CliIo, source: string): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const names = source === "-" ? undefined : listFolder(io, source);
  if (names === undefined) return [{ name: toSourceName(source), text: await readInput(io, source) }];
  const wanted = names.filter((name) => /\.(ya?ml|json)$/.test(name)).toSorted();
  const paths = wanted.map((name) => `${source.replace(/\/+$/, "")}/${name}`).filter((path) => listFolder(io, path) === undefined);
  return await Promise.all(paths.map(async (path) => ({ name: path, text: await readInput(io, path) })));
}

/** A path that leads nowhere, by what the kernel calls it. */
const NO_PATH: ReadonlySet<string> = new Set(["ELOOP", "ENAMETOOLONG"]);

/** Names in a folder. @returns undefined for what is none, and for a path that leads nowhere: whoever reads it says why */
function listFolder(io: CliIo, path: string): readonly string[] | undefined {
  try {
    return io.files.list(path);
  } catch (thrown) {
    if (thrown instanceof KernelError && NO_PATH.has(thrown.errnoName)) return undefined;
    throw thrown;
  }
}

/** The text of a file, or `-` for stdin. @throws {CommandFailed} when there is no such file */
export async function readInput(io: CliIo, source: string): Promise<string> {
  const text = await io.readInput(source, MAX_INPUT);
  if (text !== undefined) return text;
  const hint = /^https?:\/\//.test(source) ? "; of a URL give what it serves: curl -fsS URL | … -f -" : "";
  throw new CommandFailed(`read ${quote(source)}: there is no such file${hint}`);
}

/**
 * The values in a text.
 *
 * JSON has a parser of its own: it is quicker, and its errors are exact, while a YAML parser reads broken JSON as something else.
 *
 * @throws {CommandFailed} text that is neither YAML nor JSON
 */
export async function parseValues(text: string, name: string): Promise<readonly unknown[]> {
  if (text.length > MAX_INPUT) throw new CommandFailed(`read ${name}: got more than ${MAX_INPUT} characters, want fewer`);
  const objects = JSON_BEGINS.test(text) ? splitJsonObjects(text) : undefined;
  if (objects === undefined) return await parseYamlDocuments(text, name);
  const toName = (index: number): string => (objects.length === 1 ? name : `${name}, document ${index + 1}`);
  return await Promise.all(objects.map(async (object, index) => await parseJsonDocument(object, toName(index))));
}

/** In YAML in braces the first key has no quotes. */
const JSON_BEGINS = /^\s*[{[][\s{[]*["\]}]/;

async function parseYamlDocuments(text: string, name: string): Promise<readonly unknown[]> {
  return await parseYaml(text).catch((thrown: unknown) => {
    throw toFailure(thrown, name);
  });
}

async function parseJsonDocument(text: string, name: string): Promise<unknown> {
  try {
    const value = parseJson(text, { maxLength: MAX_INPUT });
    await requireUniqueKeys(text);
    return value;
  } catch (thrown) {
    throw toFailure(thrown, name);
  }
}

function toFailure(thrown: unknown, name: string): unknown {
  if (!(thrown instanceof YamlError || thrown instanceof JsonError)) return thrown;
  const wanted = thrown instanceof YamlError && thrown.what === "syntax" ? "; want YAML or JSON" : "";
  return new CommandFailed(`read ${name}: ${thrown.message}${wanted}`);
}

/**
 * Cuts a stream of JSON objects into one text each.
 *
 * @returns undefined when there is something else than objects, blanks and commas between them, as in YAML
 */
function splitJsonObjects(text: string): readonly string[] | undefined {
  const objects: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? "";
    if (char === '"' && depth > 0) i = endOfString(text, i);
    else if (char === "{" || char === "[") {
      if (depth++ === 0) start = i;
    } else if (char === "}" || char === "]") {
      if (--depth === 0) objects.push(text.slice(start, i + 1));
    } else if (depth === 0 && !/\s/.test(char)) return undefined;
  }
  return depth === 0 ? objects : undefined;
}

function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}

/** Whether it stands for its items. Of what {@link readDocuments} gives: a list in a list. */
export function isList(value: unknown): value is { readonly items: readonly unknown[] } {
  return isJsonObject(value) && typeof value["kind"] === "string" && value["kind"].endsWith("List") && Array.isArray(value["items"]);
}
