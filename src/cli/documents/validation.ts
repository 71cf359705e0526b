/** Turns documents into resources. */

import { type AnyResource, KINDS } from "../../api/registry.ts";
import { type Problem, ValidationError } from "../../api/schema/problem.ts";
import { validateResource } from "../../api/validate.ts";
import { quote } from "../../lib/quote.ts";
import { checkSelector } from "../../policy/selector/check.ts";
import { checkNamespaceName } from "../arguments/namespace-name.ts";
import { type CheckedDocuments, contradicting, type InvalidDocument, toInvalidFailure, type ValidDocument } from "./checked-documents.ts";
import type { DocumentFlags, InputDocument } from "./documents.ts";

/** The namespace of what is namespaced. */
export interface DocumentNamespace {
  /** What `-n` says: an object may name no other. */
  readonly given?: string | undefined;
  /** That of what names none, without `-n`. */
  readonly fallback?: string;
}

/**
 * Checks documents for a command that does nothing unless all of them are valid.
 *
 * @param flags with which they were read
 * @param fallback the namespace of what names none, without `-n`
 * @throws {CommandFailed} listing every problem of every document
 */
export function requireValidDocuments(
  documents: readonly InputDocument[],
  flags: DocumentFlags,
  fallback: string,
): readonly ValidDocument[] {
  const { valid, invalid } = checkDocuments(documents, { given: flags.namespace, fallback });
  if (invalid.length > 0) throw toInvalidFailure(invalid, flags);
  return valid;
}

/**
 * Checks documents to be written: each by itself, and that no two say different things of one object, which are mostly a copy with the old name.
 *
 * @throws {UsageError} for what no namespace is called
 */
export function checkDocumentsToWrite(documents: readonly InputDocument[], namespace: DocumentNamespace): CheckedDocuments {
  const checked = checkDocuments(documents, namespace);
  const valid: ValidDocument[] = [];
  const invalid = [...checked.invalid];
  const firsts = new Map<string, ValidDocument>();
  for (const document of checked.valid) {
    const { kind, metadata } = document.resource;
    const key = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
    const first = firsts.get(key) ?? document;
    firsts.set(key, first);
    if (Bun.deepEquals(first.resource, document.resource)) valid.push(document);
    else invalid.push(contradicting(document, "metadata.name", `${first.origin} says something else of the same ${kind}; want each once`));
  }
  return { valid, invalid };
}

function checkDocuments(documents: readonly InputDocument[], namespace: DocumentNamespace): CheckedDocuments {
  const { given } = namespace;
  if (given !== undefined) checkNamespaceName(given);
  const valid: ValidDocument[] = [];
  const invalid: InvalidDocument[] = [];
  for (const { value, origin } of documents) {
    try {
      valid.push({ resource: validateObject(value, namespace), origin });
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      invalid.push({ origin, error });
    }
  }
  return { valid, invalid };
}

/**
 * Checks one object.
 *
 * @throws {ValidationError} also when it names another namespace than `-n`
 */
export function validateObject(value: unknown, { given, fallback }: DocumentNamespace = {}): AnyResource {
  const wanted = given ?? fallback;
  const resource = validateResource(value, { checkSelector, ...(wanted === undefined ? {} : { namespace: wanted }) });
  const { metadata, kind } = resource;
  if (given !== undefined && KINDS[kind].namespaced && metadata.namespace !== given) {
    const problem: Problem = {
      path: "metadata.namespace",
      message: `got ${quote(metadata.namespace ?? "")}, want ${quote(given)} as said by --namespace`,
    };
    throw new ValidationError(`${kind} ${quote(metadata.name)}`, [problem]);
  }
  return resource;
}
