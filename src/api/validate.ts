/** Checks what people write, completely: one error lists every problem. */

import * as v from "valibot";
import { toChoice } from "../lib/choice.ts";
import { isJsonObject } from "../lib/json.ts";
import { nearestName } from "../lib/nearest.ts";
import { quote, quoteValue } from "../lib/quote.ts";
import { ALL_KINDS, type AnyResource, type KindInfo, KINDS } from "./registry.ts";
import { API_VERSION, DEFAULT_NAMESPACE, type Kind, type Resource } from "./resource.ts";
import { findExcess } from "./schema/excess.ts";
import { envelopeSchema, SCHEMAS } from "./schema/kinds.ts";
import { DROPPED_METADATA } from "./schema/metadata.ts";
import { type PathStep, type Problem, toPathText, UnknownKind, ValidationError } from "./schema/problem.ts";
import { type CheckSelector, walk } from "./schema/walk.ts";
import { withoutShown } from "./shown-annotations.ts";

/** What an object does not say itself. */
interface ValidateOptions {
  /** The selector language lives above this folder, so its parser is handed in. */
  readonly checkSelector: CheckSelector;
  /** Namespace of a namespaced object that names none. @default "default" */
  readonly namespace?: string;
}

/**
 * Checks one object that somebody wrote and gives it in canonical form, defaults included. `null` counts as absent, and so do
 * labels or annotations without any; `status` and what only an API server keeps, or only netplugctl shows, are dropped.
 *
 * @throws {ValidationError} with every problem that it has
 */
export function validateResource(input: unknown, options: ValidateOptions): AnyResource {
  const excess = findExcess(input);
  if (excess !== undefined) throw new ValidationError("input", [{ path: "", message: excess }]);
  const written = withoutNulls(input);
  if (!isJsonObject(written))
    throw new ValidationError("input", [{ path: "", message: `got ${quoteValue(input)}, want an object with kind` }]);
  const info = writableKindOf(written["kind"]);
  const object = info.kind === "WorkloadEndpoint" ? { ...written, metadata: withoutShown(written["metadata"]) } : written;
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const title = typeof metadata["name"] === "string" ? `${info.kind} ${quote(metadata["name"])}` : info.kind;

  const schema = envelopeSchema(info.kind);
  const problems = walk(schema, object, [], options.checkSelector);
  const checked = v.safeParse(schema, { spec: {}, ...object });
  problems.push(...(checked.issues ?? []).map(toProblem));
  if (!checked.success) throw new ValidationError(title, distinct(problems), asWritten(info.kind, object));

  const resource = toResource(info.kind, checked.output, options.namespace ?? DEFAULT_NAMESPACE);
  problems.push(...placeProblems(info, resource), ...SCHEMAS[info.kind].problems(resource.spec as never, resource.metadata.name));
  if (problems.length > 0) throw new ValidationError(title, distinct(problems), resource);
  return resource;
}

/** Fields of a part of an object that no object of its kind has, those without a value among them. */
export function findUnknownFields(kind: Kind, part: unknown): readonly Problem[] {
  return walk(envelopeSchema(kind), part, [], () => undefined);
}

/** @returns undefined for what has no name or no spec */
function asWritten(kind: Kind, { metadata, spec }: Readonly<Record<string, unknown>>): Resource | undefined {
  if (!isJsonObject(metadata) || typeof metadata["name"] !== "string" || !isJsonObject(spec)) return undefined;
  return { apiVersion: API_VERSION, kind, metadata: { name: metadata["name"] }, spec };
}

type Envelope = v.InferOutput<ReturnType<typeof envelopeSchema>>;

function toResource(kind: Kind, checked: Envelope, namespace: string): AnyResource {
  const metadata = { ...checked.metadata };
  for (const key of DROPPED_METADATA) delete metadata[key];
  for (const key of ["labels", "annotations"] as const) if (isEmpty(metadata[key])) delete metadata[key];
  const placed = KINDS[kind].namespaced ? { ...metadata, namespace: metadata.namespace ?? namespace } : metadata;
  // `never`: which of the schemas made the spec is known by kind only.
  return { apiVersion: API_VERSION, kind, metadata: placed, spec: SCHEMAS[kind].complete(checked.spec as never) } as AnyResource;
}

/** An API server does not keep a map without entries: an object that has one would differ from what is stored for ever. */
function isEmpty(map: object | undefined): boolean {
  return map !== undefined && Object.keys(map).length === 0;
}

/** Kinds are written exactly in a document; on the command line any spelling will do. */
function writableKindOf(kind: unknown): KindInfo<Kind> {
  const info = ALL_KINDS.find((known) => known.kind === kind);
  if (info?.kind === "IPAMBlock")
    throw new ValidationError("IPAMBlock", [{ path: "kind", message: `got "IPAMBlock", which only the system writes` }]);
  if (info !== undefined) return info as KindInfo<Kind>;
  const meant = typeof kind === "string" ? nearestName(kind, Object.keys(KINDS)) : undefined;
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
  // Nothing is known of an object that names no kind at all.
  const Fault = typeof kind === "string" ? UnknownKind : ValidationError;
  throw new Fault("input", [
    {
      path: "kind",
      message: `got ${kind === undefined ? "nothing" : quoteValue(kind)}, want ${toChoice(Object.keys(KINDS))}${hint}`,
    },
  ]);
}

function placeProblems(info: KindInfo, { metadata }: AnyResource): readonly Problem[] {
  const problems: Problem[] = [];
  if (!info.namespaced && metadata.namespace !== undefined) {
    problems.push({ path: "metadata.namespace", message: `got ${quote(metadata.namespace)}, want none: ${info.kind} has no namespace` });
  }
  if (info.singleton !== undefined && metadata.name !== info.singleton) {
    problems.push({
      path: "metadata.name",
      message: `got ${quote(metadata.name)}, want "${info.singleton}": there is only one ${info.kind}`,
    });
  }
  return problems;
}

function toProblem(issue: v.BaseIssue<unknown>): Problem {
  const steps = (issue.path ?? []).map((item): PathStep => (typeof item.key === "number" ? item.key : String(item.key)));
  const path = toPathText(steps);
  // An absent key is reported with its own name as the expectation.
  if (issue.received === "undefined") return { path, message: "is missing" };
  const wanted = issue.message.startsWith("want")
    ? issue.message
    : issue.kind === "schema"
      ? `want ${issue.expected ?? "another value"}`
      : undefined;
  if (wanted === undefined) return { path, message: issue.message };
  // YAML takes a name such as 123 for a number, in which a reader sees nothing wrong.
  const isTextWithoutQuotes = steps[0] === "metadata" && issue.type === "string" && /^(number|boolean)$/.test(typeof issue.input);
  return { path, message: `got ${quoteValue(issue.input)}, ${wanted}${isTextWithoutQuotes ? "; put it in quotes" : ""}` };
}

function distinct(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [`${problem.path}\0${problem.message}`, problem])).values()];
}

/** As Kubernetes does: a key without a value counts as absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([, child]) => child !== null && child !== undefined);
  return Object.fromEntries(kept.map(([key, child]) => [key, withoutNulls(child)]));
}
