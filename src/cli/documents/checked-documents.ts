/** Documents that were checked, and how a command fails because of those that make no sense. */

import type { AnyResource } from "../../api/registry.ts";
import { UnknownKind, ValidationError } from "../../api/schema/problem.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed, EXIT } from "../failures/failure.ts";
import type { DocumentFlags } from "./documents.ts";
import { onSameFiles } from "./same-files.ts";

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
export interface CheckedDocuments {
  readonly valid: readonly ValidDocument[];
  readonly invalid: readonly InvalidDocument[];
}

/** One that is valid by itself, but not beside the others. */
export function contradicting({ resource, origin }: ValidDocument, path: string, message: string): InvalidDocument {
  return { origin, error: new ValidationError(`${resource.kind} ${quote(resource.metadata.name)}`, [{ path, message }]) };
}

/** That nothing is done because of these. @param flags which files they are from */
export function toInvalidFailure(invalid: readonly InvalidDocument[], flags: DocumentFlags): CommandFailed {
  return new CommandFailed(toInvalidText(invalid), { next: onSameFiles("validate", flags), status: statusOfInvalid(invalid) });
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
