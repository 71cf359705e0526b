/** For tests: a door in front of a real API server behind which single requests meet a fault. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ApiServer } from "./api-server.ts";
import { type Refusal, refuse } from "./refusal.ts";

/** A request on its way: `update ipamblocks/…` without group and query. */
export interface PassingRequest {
  readonly method: string;
  /** Below the API's version: `ipamblocks/010-…`. */
  readonly resource: string;
  readonly query: URLSearchParams;
}

/** What becomes of a request. */
export type Fate =
  | "pass"
  /** It is carried out, and its answer never comes. */
  | "lose-reply"
  /** It is not carried out: the connection breaks. */
  | "lose-request"
  /** It is carried out; the answer ends after its head, as if that were all. */
  | "cut-body"
  /** It is not carried out: this is the answer. */
  | Refusal;

export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** Decides on every request; may do something before it. */
  decide: (request: PassingRequest) => Fate | Promise<Fate>;
  /** `GET ipamblocks/…`, in the order in which they came. */
  readonly seen: string[];
  /** `PATCH pods/… 200`, in the order in which the API server answered. */
  readonly answered: string[];
}

/** Everybody who comes through it is the administrator. */
export async function startFaultProxy(target: ApiServer): Promise<FaultProxy> {
  const tls = { ca: readFileSync(target.caFile, "utf8") };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "" } = request;
    const { pathname, searchParams } = new URL(url, "http://x");
    const resource = pathname.replace(/^\/apis?\/(?:[a-z.]+\/)?v\d\//, "");
    proxy.seen.push(`${method} ${resource}`);
    const body = await readText(request);
    const fate = await proxy.decide({ method, resource, query: searchParams });
    if (fate === "lose-request") return void request.socket.destroy();
    if (typeof fate === "object") return refuse(response, fate);
    const ending = new AbortController();
    response.once("close", () => ending.abort());
    const answer = await fetch(target.url + url, {
      method,
      headers: { ...toHeaders(request), authorization: `Bearer ${target.token}` },
      ...(body !== "" && { body }),
      tls,
      signal: ending.signal,
    });
    proxy.answered.push(`${method} ${resource} ${answer.status}`);
    if (fate === "lose-reply") {
      await answer.text();
      return void request.socket.destroy();
    }
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" });
    response.flushHeaders();
    if (fate === "cut-body") return void response.end();
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    decide: () => "pass",
    seen: [],
    answered: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return proxy;
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks = await Array.fromAsync(request as AsyncIterable<Uint8Array>);
  return Buffer.concat(chunks).toString();
}

function toHeaders({ headers }: IncomingMessage): Record<string, string> {
  // The audit log tells by the agent who asked.
  const { accept = "*/*", "content-type": type, "user-agent": agent = "" } = headers;
  return { accept, "user-agent": agent, ...(type !== undefined && { "content-type": type }) };
}
