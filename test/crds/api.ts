/** For tests: a real API server with our CRDs, and what it says of an object compared with what we say. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS } from "../../src/api/registry.ts";
import type { Kind } from "../../src/api/resource.ts";
import { ValidationError } from "../../src/api/schema/problem.ts";
import { validateResource } from "../../src/api/validate.ts";
import { checkSelector } from "../../src/policy/selector/check.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../cluster/api-server.ts";

/** What `npm run generate` wrote, as users apply it. */
export const MANIFEST = readFileSync(join(repositoryRoot, "manifests/crds.yaml"), "utf8");

export const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** The answer to one request. */
export interface Answer {
  readonly status: number;
  readonly body: { readonly message?: string; readonly spec?: unknown; readonly metadata?: { readonly resourceVersion?: string } };
}

export interface Api {
  /** @param type of the body. @default "application/json" */
  request(method: string, path: string, body?: unknown, type?: string): Promise<Answer>;
  /** Applies a manifest as `kubectl apply --server-side --force-conflicts` does. @throws Error naming what was refused */
  apply(manifest: string, fieldManager?: string): Promise<void>;
  /** Waits until every CRD of a manifest is served. */
  untilServed(manifest: string): Promise<void>;
  /** Asks whether an object would be taken, and how; nothing is stored. */
  ask(object: Writable): Promise<Answer>;
}

export interface Writable {
  readonly kind: Kind;
  readonly metadata: { readonly name: string };
}

export function connect(server: ApiServer): Api {
  const tls = { ca: readFileSync(server.caFile, "utf8") };
  const request = async (method: string, path: string, body?: unknown, type = "application/json"): Promise<Answer> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, "content-type": type },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      tls,
    });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  };
  return {
    request,
    async apply(manifest, fieldManager = "netplugctl") {
      for (const [name, document] of documentsOf(manifest)) {
        const path = `${CRDS}/${name}?fieldManager=${fieldManager}&force=true`;
        const { status, body } = await request("PATCH", path, document, "application/apply-patch+yaml");
        if (status >= 300) throw new Error(`apply ${name}: ${status} ${body.message}`);
      }
    },
    async untilServed(manifest) {
      for (const [name] of documentsOf(manifest)) {
        await server.kubectl(["wait", "--for=condition=Established", "--timeout=30s", `crd/${name}`]);
        const [plural = ""] = name.split(".");
        await until(async () => (await request("GET", `${collection(plural)}?limit=1`)).status === 200);
      }
    },
    ask: (object) => request("POST", `${collection(KINDS[object.kind].plural)}?dryRun=All&fieldValidation=Strict`, object),
  };
}

/** An API server with the CRDs of this version. */
export async function startWithCrds(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer(options);
  const api = connect(server);
  await api.apply(MANIFEST);
  await api.untilServed(MANIFEST);
  return server;
}

/** Where the objects of a kind are. */
export function collection(plural: string): string {
  return `/apis/netplug.io/v3/${plural}`;
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

/** What the API server says. @throws Error when it says neither yes nor no */
export async function itsVerdict(api: Api, object: Writable): Promise<{ readonly spec: unknown } | { readonly problems: string }> {
  const { status, body } = await api.ask(object);
  if (status === 201) return { spec: body.spec };
  if (status === 422 || status === 400) return { problems: body.message ?? "" };
  throw new Error(`ask about ${JSON.stringify(object)}: ${status} ${body.message}`);
}

/** The definitions of a manifest, each with its name. */
export function documentsOf(manifest: string): readonly (readonly [name: string, document: string])[] {
  return manifest.split(/^---$/m).map((document) => [/^ {2}name: (\S+)$/m.exec(document)?.[1] ?? "", document]);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; performance.now() < end; await Bun.sleep(20)) if (await isSo()) return;
  throw new Error("waited 20 s in vain");
}
