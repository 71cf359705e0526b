/** For tests: our custom resource definitions on a real API server. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../support/servers/api-server.ts";

/** What `npm run generate` wrote, as users apply it. */
export const MANIFEST = readFileSync(join(repositoryRoot, "manifests/crds.yaml"), "utf8");

export const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** An API server with the definitions of this version. */
export async function startWithCrds(options: ApiServerOptions = {}): Promise<ApiServer> {
  const server = await startApiServer(options);
  await applyCrds(server, MANIFEST);
  await untilServed(server, MANIFEST);
  return server;
}

/** Applies a manifest as `kubectl apply --server-side --force-conflicts` does. @throws Error naming what was refused */
export async function applyCrds(server: ApiServer, manifest: string, fieldManager = "netplugctl"): Promise<void> {
  for (const [name, document] of documentsOf(manifest)) {
    const path = `${CRDS}/${name}?fieldManager=${fieldManager}&force=true`;
    const { status, body } = await server.request("PATCH", path, document, "application/apply-patch+yaml");
    if (status >= 300) throw new Error(`apply ${name}: ${status} ${body.message}`);
  }
}

/** Waits until every definition of a manifest is served. */
export async function untilServed(server: ApiServer, manifest: string): Promise<void> {
  for (const [name] of documentsOf(manifest)) {
    await server.kubectl(["wait", "--for=condition=Established", "--timeout=30s", `crd/${name}`]);
    const [plural = ""] = name.split(".");
    await until(async () => (await server.request("GET", `${collection(plural)}?limit=1`)).status === 200);
  }
}

/** Where the objects of a kind are. */
export function collection(plural: string): string {
  return `/apis/netplug.io/v3/${plural}`;
}

/** The definitions of a manifest, each with its name. */
export function documentsOf(manifest: string): readonly (readonly [name: string, document: string])[] {
  return manifest.split(/^---$/m).map((document) => [/^ {2}name: (\S+)$/m.exec(document)?.[1] ?? "", document]);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; performance.now() < end; await Bun.sleep(20)) if (await isSo()) return;
  throw new Error("waited 20 s in vain");
}
