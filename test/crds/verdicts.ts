/** For tests: what an API server says of an object compared with what we say. */

import { KINDS } from "../../src/api/registry.ts";
import type { Kind } from "../../src/api/resource.ts";
import { ValidationError } from "../../src/api/schema/problem.ts";
import { validateResource } from "../../src/api/validate.ts";
import { checkSelector } from "../../src/policy/selector/check.ts";
import type { Answer } from "../support/servers/admin-requests.ts";
import type { ApiServer } from "../support/servers/api-server.ts";
import { collection } from "./definitions.ts";

/** As much of an object as its place depends on. */
export interface Writable {
  readonly kind: Kind;
  readonly metadata: { readonly name: string };
}

/** A whole object of a kind; its name is the one that a singleton must have. */
export function objectOf(kind: Kind, spec: unknown, name = KINDS[kind].singleton ?? "one"): Writable {
  return { apiVersion: "netplug.io/v3", kind, metadata: { name }, spec } as Writable;
}

/** What we say: the spec in canonical form with every default, or every problem. */
export function ourVerdict(object: unknown): { readonly spec: unknown } | { readonly problems: string } {
  try {
    return { spec: validateResource(object, { checkSelector }).spec };
  } catch (error) {
    if (error instanceof ValidationError) return { problems: error.message };
    throw error;
  }
}

/** Asks whether an object would be taken, and how; nothing is stored. */
export function askAbout(server: ApiServer, object: Writable): Promise<Answer> {
  return server.request("POST", `${collection(KINDS[object.kind].plural)}?dryRun=All&fieldValidation=Strict`, object);
}

/** What the API server says. @throws Error when it says neither yes nor no */
export async function itsVerdict(server: ApiServer, object: Writable): Promise<{ readonly spec: unknown } | { readonly problems: string }> {
  const { status, body } = await askAbout(server, object);
  if (status === 201) return { spec: body.spec };
  if (status === 422 || status === 400) return { problems: body.message ?? "" };
  throw new Error(`ask about ${JSON.stringify(object)}: ${status} ${body.message}`);
}
