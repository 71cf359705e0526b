/** For tests: an HTTP server that answers as it is told, for faults that a real API server cannot be made to show. */

import type { Server } from "bun";
import { KubeClient } from "../../../src/kube/client.ts";
import type { KubeOptions } from "../../../src/kube/requests/requester.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Clock } from "../../../src/lib/ports.ts";
import { memoryFiles } from "../../support/memory-files.ts";

export interface SeenRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FakeApiServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
}

/** What an API server is asked after it has denied something; a fake says yes, and does not count it. */
const READINESS = "/readyz";

/**
 * @param answer is given the request and how many came before it
 * @param readiness the status of its answer when it is asked whether it is ready
 */
export function startFakeApiServer(
  answer: (request: SeenRequest, before: number) => Response | Promise<Response>,
  readiness: () => number = () => 200,
): FakeApiServer {
  const seen: SeenRequest[] = [];
  const server: Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const url = new URL(request.url);
      if (url.pathname === READINESS) return new Response(null, { status: readiness() });
      const headers = Object.fromEntries([...request.headers].map(([name, value]) => [name.toLowerCase(), value]));
      const one = { method: request.method, path: url.pathname + url.search, headers, body: await request.text() };
      seen.push(one);
      return await answer(one, seen.length - 1);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** Answers in this order, and with the last for ever. */
export function answering(...answers: readonly (() => Response | Promise<Response>)[]): FakeApiServer {
  return startFakeApiServer((_request, before) => (answers[before] ?? answers.at(-1) ?? Response.error)());
}

/** A client of a fake, with real time unless another clock is given. */
export function clientOf(server: { readonly url: string }, options: KubeOptions = {}, clock: Clock = systemClock): KubeClient {
  const ports = { clock, random: () => 0.5, files: memoryFiles({}), processes: noProcesses, env: {} };
  return new KubeClient({ apiRoot: server.url }, ports, options);
}

export const noProcesses = {
  run: () => Promise.reject(new Error("no program should be run")),
};

/** A Status as the API server sends it. */
export function statusAnswer(
  code: number,
  reason: string,
  message: string,
  { details, headers = {} }: { readonly details?: object; readonly headers?: Record<string, string> } = {},
): Response {
  return Response.json(
    { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, details, code },
    { status: code, headers },
  );
}
