/** Turns documents into resources, all or none. */

import { type Problem, UnknownKind, ValidationError } from "../../api/schema/problem.ts";
import type { AnyResource } from "../../api/registry.ts";
import { KINDS } from "../../api/registry.ts";
import { validateResource } from "../../api/validate.ts";
import { overlaps, parsePrefix, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { checkSelector } from "../../policy/selector/check.ts";
import { CommandFailed, EXIT } from "../failure.ts";
import type { InputDocument } from "./documents.ts";

/** A document that passed. */
export interface ValidDocument {
  readonly resource: AnyResource;
  readonly origin: string;
}

/** A document that did not. */
export interface InvalidDocument {
  readonly origin: string;
  readonly error: ValidationError;
}

/** The documents, by whether they can be written. */
interface CheckedDocuments {
  readonly valid: readonly ValidDocument[];
  readonly invalid: readonly InvalidDocument[];
}

/**
 * Checks each document by itself.
 *
 * @param namespace what `-n` says
 * @param fallback namespace of what is namespaced and names none, without `-n`
 */
export function checkDocuments(documents: readonly InputDocument[], namespace: string | undefined, fallback?: string): CheckedDocuments {
  const valid: ValidDocument[] = [];
  const invalid: InvalidDocument[] = [];
  for (const { value, origin } of documents) {
    try {
      valid.push({ resource: validateObject(value, namespace, fallback), origin });
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      invalid.push({ origin, error });
    }
  }
  return { valid, invalid };
}

/** As {@link checkDocuments}, for documents to be written: they must not contradict each other. */
export function checkDocumentsToWrite(...input: Parameters<typeof checkDocuments>): CheckedDocuments {
  const checked = checkDocuments(...input);
  const valid: ValidDocument[] = [];
  const invalid = [...checked.invalid];
  const firsts = new Map<string, ValidDocument>();
  const pools: PoolDocument[] = [];
  for (const document of checked.valid) {
    const { kind, metadata } = document.resource;
    const key = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, document);
    const problem = first === undefined ? overlapWith(pools, document) : differenceFrom(first, document);
    if (problem === undefined) valid.push(document);
    else invalid.push({ origin: document.origin, error: new ValidationError(`${kind} ${quote(metadata.name)}`, [problem]) });
  }
  return { valid, invalid };
}

/** Two that say different things of one object are mostly a copy with the old name. */
function differenceFrom(first: ValidDocument, { resource }: ValidDocument): Problem | undefined {
  if (Bun.deepEquals(first.resource, resource)) return undefined;
  return { path: "metadata.name", message: `${first.origin} says something else of the same ${resource.kind}; want each once` };
}

interface PoolDocument {
  readonly name: string;
  readonly cidr: Prefix;
  readonly origin: string;
}

/** Otherwise the first pool would be written, and the second refused. @param pools those before; a further one is added */
function overlapWith(pools: PoolDocument[], { resource, origin }: ValidDocument): Problem | undefined {
  if (resource.kind !== "IPPool") return undefined;
  const { name } = resource.metadata;
  const cidr = parsePrefix(resource.spec.cidr);
  const other = pools.find((pool) => overlaps(pool.cidr, cidr));
  pools.push({ name, cidr, origin });
  if (other === undefined) return undefined;
  const where = `ippool ${quote(other.name)} (${toPrefixText(other.cidr)}) of ${other.origin}`;
  return { path: "spec.cidr", message: `${toPrefixText(cidr)} overlaps ${where}; choose another CIDR, or leave one of them out` };
}

/**
 * Checks one object.
 *
 * @throws {ValidationError} also when it names another namespace than `-n`
 */
export function validateObject(value: unknown, namespace?: string, fallback?: string): AnyResource {
  const wanted = namespace ?? fallback;
  const resource = validateResource(value, { checkSelector, ...(wanted === undefined ? {} : { namespace: wanted }) });
  const { metadata, kind } = resource;
  if (namespace !== undefined && KINDS[kind].namespaced && metadata.namespace !== namespace) {
    const problem: Problem = {
      path: "metadata.namespace",
      message: `got ${quote(metadata.namespace ?? "")}, want ${quote(namespace)} as said by --namespace`,
    };
    throw new ValidationError(`${kind} ${quote(metadata.name)}`, [problem]);
  }
  return resource;
}

/**
 * Checks all documents before anything is written.
 *
 * @throws {CommandFailed} listing every problem of every document
 */
export function requireValid(
  documents: readonly InputDocument[],
  namespace: string | undefined,
  fallback: string,
): readonly ValidDocument[] {
  const { valid, invalid } = checkDocuments(documents, namespace, fallback);
  if (invalid.length === 0) return valid;
  throw toInvalidFailure(invalid);
}

/** That nothing is done because of these. */
export function toInvalidFailure(invalid: readonly InvalidDocument[]): CommandFailed {
  return new CommandFailed(toInvalidText(invalid), { next: "validate -f FILE", status: statusOfInvalid(invalid) });
}

/** The exit status because of these. */
export function statusOfInvalid(invalid: readonly InvalidDocument[]): number {
  return invalid.some(({ error }) => error instanceof UnknownKind) ? EXIT.usage : EXIT.failed;
}

/** Every problem of every document, one a line. */
export function toInvalidText(invalid: readonly InvalidDocument[]): string {
  return invalid
    .map(({ origin, error }) => {
      const [first, ...rest] = error.problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
      const head = `validate ${error.object} (${origin}):`;
      return rest.length === 0 ? `${head} ${first ?? ""}` : [head, ...[first, ...rest].map((problem) => `  ${problem}`)].join("\n");
    })
    .join("\n");
}
