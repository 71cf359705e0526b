/** `patch`: changes some fields of one object. */

import type { AnyResource } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import { findExcess } from "../../api/schema/excess.ts";
import { ValidationError } from "../../api/schema/problem.ts";
import { findUnknownFields } from "../../api/validate.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import { withDatastore } from "../access/access.ts";
import { defaultNamespaceOf } from "../access/default-namespace.ts";
import { CommandFailed, EXIT, UsageError } from "../failures/failure.ts";
import { type Cli, say } from "../io.ts";
import { applyPatch, type PatchType } from "../patch/apply.ts";
import { validateChanged } from "../resources/cluster-version.ts";
import { parseValues } from "../documents/documents.ts";
import { checkNamespace, parseOneName, toRef } from "../resources/name-arguments.ts";
import { toPathName } from "../resources/object-name.ts";
import { updateResource } from "../resources/write.ts";

/** The change, as one text of JSON or YAML, and the kind of patch that it is. */
export interface PatchFlags {
  readonly patch: string;
  readonly type: PatchType;
  readonly namespace?: string;
}

/** Applies a patch to what is stored at that moment. */
export async function patch(cli: Cli, flags: PatchFlags, ...words: string[]): Promise<number> {
  const { info, name, rest } = parseOneName(words);
  if (rest.length > 0) throw new UsageError(`read arguments: got ${quoteValue(rest[0])}, want one object`);
  checkNamespace([{ info }], flags.namespace);
  const ref = toRef(info, name, flags.namespace ?? (await defaultNamespaceOf(cli)));
  const change = await parsePatch(flags.patch, flags.type);
  const { outcome } = await withDatastore(cli, (datastore) =>
    updateResource({ datastore, io: cli.io }, ref, (current) => patched(current, flags.type, change)),
  );
  say(cli, `${toPathName(ref)} ${outcome === "configured" ? "patched" : outcome}`);
  return EXIT.done;
}

/** A file's name, as curl and kubectl take one: no patch is written so. */
const FILE_NAME = /^@|^\S+\.(ya?ml|json)$/i;

async function parsePatch(text: string, type: PatchType): Promise<unknown> {
  if (FILE_NAME.test(text))
    throw new UsageError(`read option "--patch": got ${quote(text)}, want JSON or YAML; of a file give what is in it: -p "$(cat FILE)"`);
  const values = await parseValues(text, 'option "--patch"').catch((thrown: unknown) => {
    throw thrown instanceof CommandFailed ? new UsageError(thrown.message) : thrown;
  });
  const [value] = values;
  if (value === undefined || value === null) throw new UsageError('read option "--patch": got nothing, want JSON or YAML');
  if (values.length > 1) throw new UsageError(`read option "--patch": got ${values.length} documents, want one`);
  const excess = findExcess(value);
  if (excess !== undefined) throw new UsageError(`read option "--patch": ${excess}`);
  if (type !== "json" && !isJsonObject(value)) {
    const hint = Array.isArray(value) ? "; a list of operations wants --type json" : "";
    throw new UsageError(`read option "--patch": got ${quoteValue(value)}, want an object${hint}`);
  }
  return value;
}

/** What a patch may not touch is what identifies the object. */
function patched(current: Resource, type: PatchType, change: unknown): AnyResource {
  if (type !== "json") requireKnownRemovals(current, change);
  const value = applyPatch(type, current, change);
  const metadata = isJsonObject(value) && isJsonObject(value["metadata"]) ? value["metadata"] : {};
  for (const key of ["name", "namespace", "uid", "creationTimestamp"] as const) {
    if (metadata[key] === current.metadata[key]) continue;
    throw new CommandFailed(
      `apply patch: metadata.${key}: got ${quoteValue(metadata[key] ?? null)}, want ${quoteValue(current.metadata[key] ?? null)}: it cannot be changed`,
    );
  }
  if (isJsonObject(value) && value["kind"] !== current.kind)
    throw new CommandFailed(`apply patch: kind: got ${quoteValue(value["kind"] ?? null)}, want "${current.kind}"`);
  return validateChanged(current, value);
}

/** A removal of what no object has is a slip, and no patch that changes nothing: in YAML, `{spec:{disabled:true}}` is a key without a value. */
function requireKnownRemovals(current: Resource, change: unknown): void {
  const problems = findUnknownFields(current.kind, removalsOfNothing(change, current));
  if (problems.length > 0) throw new ValidationError(`${current.kind} ${quote(current.metadata.name)}`, problems);
}

/** The part of a patch that removes what the object does not have. */
function removalsOfNothing(change: unknown, current: unknown): Readonly<Record<string, unknown>> {
  const there = isJsonObject(current) ? current : {};
  const kept = Object.entries(isJsonObject(change) ? change : {}).flatMap(([key, value]): [string, unknown][] => {
    if (value === null) return Object.hasOwn(there, key) ? [] : [[key, null]];
    return isJsonObject(value) && !key.startsWith("$") ? [[key, removalsOfNothing(value, there[key])]] : [];
  });
  return Object.fromEntries(kept);
}
