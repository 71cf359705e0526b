/**
 * A program that does nothing but send the requests of an ADD, in the same three rounds: what no ADD of one process can be quicker than.
 * It reads {@link RequestsAlone} from stdin.
 */

import { readFileSync } from "node:fs";

/** Whose requests, and as whom. */
export interface RequestsAlone {
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  readonly node: string;
  readonly pod: string;
  /** Name of the block's object. */
  readonly block: string;
}

interface BlockObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

if (import.meta.main) {
  await sendAll(JSON.parse(readFileSync(0, "utf8")) as RequestsAlone);
  process.exit(0);
}

async function sendAll({ server, ca, token, node, pod, block }: RequestsAlone): Promise<void> {
  const session = new Bun.FetchSession({ proxy: false, tls: { ca } });
  const send = async (method: string, path: string, body?: object, type = "application/json"): Promise<string> => {
    const headers = { accept: "application/json", authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": type }) };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(server + path, { method, headers, session, protocol: "http2", ...content });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  };
  const ours = "/apis/netplug.io/v3";
  const podPath = `/api/v1/namespaces/default/pods/${pod}`;
  const blockPath = `${ours}/ipamblocks/${block}`;
  const [blockText] = await Promise.all(
    [
      blockPath,
      podPath,
      "/api/v1/namespaces/default",
      `/api/v1/nodes/${node}`,
      `${ours}/clusterinformations/default`,
      `${ours}/ipamconfigurations/default`,
      `${ours}/ippools?resourceVersion=0`,
      `${ours}/ipreservations?resourceVersion=0`,
    ].map((path) => send("GET", path).catch(acceptMissing)),
  );
  const stored = JSON.parse(blockText ?? "") as BlockObject;
  const annotations = { ...stored.metadata.annotations, "bench.netplug.io/changed": crypto.randomUUID() };
  await send("PUT", blockPath, { ...stored, metadata: { ...stored.metadata, annotations } });
  const podIP = "10.128.0.1";
  const shown = { "cni.netplug.io/podIP": podIP, "cni.netplug.io/podIPs": podIP, "cni.netplug.io/containerID": crypto.randomUUID() };
  await send("PATCH", `${podPath}/status`, { metadata: { annotations: shown } }, "application/merge-patch+json");
}

/** A cluster without IPAMConfiguration is one with the defaults. */
function acceptMissing(thrown: unknown): string {
  if (thrown instanceof Error && thrown.message.includes(": 404 ")) return "";
  throw thrown;
}
