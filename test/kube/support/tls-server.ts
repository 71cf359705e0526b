/** For tests: API servers that speak TLS and say who asks, and clients with a kubeconfig of their own. */

import { readFileSync } from "node:fs";
import { createServer } from "node:tls";
import { KubeClient } from "../../../src/kube/client.ts";
import type { KubeOptions } from "../../../src/kube/requests/requester.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import type { KeyPair } from "../../support/servers/certificates.ts";
import { noProcesses, statusAnswer } from "./fake-api-server.ts";

export const text = (path: string): string => readFileSync(path, "utf8");

export interface TlsServer extends AsyncDisposable {
  readonly url: string;
  /** HTTP version and user of each request. */
  readonly seen: string[];
}

export interface ServeOptions {
  /** False: it knows HTTP/1.1 only. */
  readonly http2?: boolean;
  readonly clientCa?: string;
  /** The only token that it takes. @default any */
  readonly token?: string;
}

/** Says who asks. */
export function serve(pair: KeyPair, { http2 = true, clientCa, token }: ServeOptions = {}): TlsServer {
  const seen: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    http2,
    tls: {
      cert: text(pair.certFile),
      key: text(pair.keyFile),
      ...(clientCa !== undefined && { ca: text(clientCa), requestCert: true, rejectUnauthorized: true }),
    },
    fetch(request) {
      // HTTP/2 has no such header.
      seen.push(`${request.headers.get("connection") === null ? "h2" : "h1"} ${request.headers.get("authorization") ?? "nobody"}`);
      const isKnown = token === undefined || request.headers.get("authorization") === `Bearer ${token}`;
      return isKnown ? Response.json({ metadata: { name: "n" } }) : statusAnswer(401, "Unauthorized", "Unauthorized");
    },
  });
  return {
    url: `https://127.0.0.1:${server.port}`,
    seen,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** Answers in this order, whoever asks. */
export function serveInOrder(pair: KeyPair, answers: readonly (() => Response)[]): Omit<TlsServer, "seen"> {
  let before = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: text(pair.certFile), key: text(pair.keyFile) },
    fetch: () => (answers[before++] ?? Response.error)(),
  });
  return {
    url: `https://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** A server that ends the handshake with whoever does not offer HTTP/1.1, as Go's servers do, and an API server with `--disable-http2-serving`. */
export async function serveHttp1Only(pair: KeyPair): Promise<TlsServer> {
  const seen: string[] = [];
  const body = JSON.stringify({ metadata: { name: "n" } });
  const options = { cert: text(pair.certFile), key: text(pair.keyFile), ALPNProtocols: ["http/1.1"] };
  const server = createServer(options, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (data: Buffer) => {
      const method = /^[A-Z]+(?= \S+ HTTP\/1\.1\r\n)/.exec(data.toString())?.[0];
      // A body may come in a piece of its own.
      if (method === undefined) return;
      seen.push(method);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as { readonly port: number }).port));
  });
  return {
    url: `https://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

/** A client with a kubeconfig in this folder, of one cluster and one user. */
export function clientOfFiles(folder: string, cluster: object, user: object = {}, options: KubeOptions = {}): KubeClient {
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
  };
  const path = `${folder}/config-${crypto.randomUUID()}`;
  linuxFiles.writeAtomically(path, JSON.stringify(config), 0o600);
  return new KubeClient(
    { kubeconfig: path },
    { clock: systemClock, random: Math.random, files: linuxFiles, processes: noProcesses, env: process.env },
    options,
  );
}
