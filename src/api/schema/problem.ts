/** What is wrong with an object, and where. */

import type { Resource } from "../resource.ts";

/** One fault of an object: a {@link ValidationError} lists all that were found. */
export interface Problem {
  /** E.g. `spec.ingress[0].source.nets[1]`; empty: the object as a whole. */
  readonly path: string;
  /** E.g. `got 12, want 20..32`. */
  readonly message: string;
}

/** One step into an object: a key, or the index of a list. */
export type PathStep = string | number;

/** Writes a path as people read it; keys that are no plain words are put into brackets. */
export function toPathText(steps: readonly PathStep[]): string {
  return steps
    .map((step) =>
      typeof step === "number" ? `[${step}]` : /^[A-Za-z_][A-Za-z0-9_]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`,
    )
    .join("")
    .replace(/^\./, "");
}

/** Input that is no valid resource. */
export class ValidationError extends Error {
  override readonly name: string = "ValidationError";
  /** What it is called, e.g. `IPPool "blue"`. */
  readonly object: string;
  /** All of them, in the order of the schema. */
  readonly problems: readonly Problem[];
  /** The object, where it has a kind, a name and a spec: in canonical form when each of its fields is right by itself, else as it was written. */
  readonly resource: Resource | undefined;

  constructor(object: string, problems: readonly Problem[], resource?: Resource) {
    super(`validate ${object}: ${problems.map(toProblemText).join("; ")}`);
    this.object = object;
    this.problems = problems;
    this.resource = resource;
  }
}

/** An object of a kind that there is not. */
export class UnknownKind extends ValidationError {
  override readonly name = "UnknownKind";
}

/** One problem in one line. */
export function toProblemText(problem: Problem): string {
  return problem.path === "" ? problem.message : `${problem.path}: ${problem.message}`;
}
