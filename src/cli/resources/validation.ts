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
import { checkNamespaceName } from "./name-arguments.ts";

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
 * @throws {UsageError} for what no namespace is called
 */
export function checkDocuments(documents: readonly InputDocument[], namespace: string | undefined, fallback?: string): CheckedDocuments {
  if (namespace !== undefined) checkNamespaceName(namespace);
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

/** As {@link checkDocuments}, for documents to be written: two that say different things of one object are mostly a copy with the old name. */
export function checkDocumentsToWrite(...input: Parameters<typeof checkDocuments>): CheckedDocuments {
  const checked = checkDocuments(...input);
  const valid: ValidDocument[] = [];
  const invalid = [...checked.invalid];
  const firsts = new Map<string, ValidDocument>();
  for (const document of checked.valid) {
    const { kind, metadata } = document.resource;
    const key = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
    const first = firsts.get(key) ?? document;
    firsts.set(key, first);
    if (Bun.deepEquals(first.resource, document.resource)) valid.push(document);
    else invalid.push(toInvalid(document, "metadata.name", `${first.origin} says something else of the same ${kind}; want each once`));
  }
  return { valid, invalid };
}

/** As {@link checkDocumentsToWrite}, for pools to be created: otherwise the first of two that overlap would be written, and the second refused. */
export function checkPoolsApart(documents: readonly ValidDocument[]): CheckedDocuments {
  const pools = new Map<string, { readonly cidr: Prefix; readonly origin: string }>();
  const valid: ValidDocument[] = [];
  const invalid: InvalidDocument[] = [];
  for (const document of documents) {
    const { resource, origin } = document;
    const { name } = resource.metadata;
    const cidr = resource.kind === "IPPool" && !pools.has(name) ? parsePrefix(resource.spec.cidr) : undefined;
    const other = cidr && pools.entries().find(([, pool]) => overlaps(pool.cidr, cidr));
    if (cidr !== undefined) pools.set(name, { cidr, origin });
    if (cidr === undefined || other === undefined) valid.push(document);
    else invalid.push(toInvalid(document, "spec.cidr", describeOverlap(cidr, ...other)));
  }
  return { valid, invalid };
}

function describeOverlap(cidr: Prefix, name: string, other: { readonly cidr: Prefix; readonly origin: string }): string {
  const where = `ippool ${quote(name)} (${toPrefixText(other.cidr)}) of ${other.origin}`;
  return `${toPrefixText(cidr)} overlaps ${where}; choose another CIDR, or leave one of them out`;
}

function toInvalid({ resource, origin }: ValidDocument, path: string, message: string): InvalidDocument {
  return { origin, error: new ValidationError(`${resource.kind} ${quote(resource.metadata.name)}`, [{ path, message }]) };
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
