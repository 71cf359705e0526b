/** The program behind `node-fault-proxy.ts`: runs on a node, between the plugin and the API server, and does to requests what it is told. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { refuse } from "../../support/servers/refusal.ts";
import type { Fault, FaultPlan, Met, ProxyArguments } from "./fault-plan.ts";

type Direction = "reads" | "writes";

/** Deals out a plan, for reads and writes apart: a call of the plugin has many reads and few writes. */
class Dealer {
  readonly #plan: FaultPlan;
  readonly #seen: Record<Direction, number> = { reads: 0, writes: 0 };
  readonly #met: Record<Direction, number> = { reads: 0, writes: 0 };

  constructor(plan: FaultPlan) {
    this.#plan = plan;
  }

  get met(): Met {
    return this.#met;
  }

  next(method: string): Fault | undefined {
    const direction = method === "GET" ? "reads" : "writes";
    const { faults, every, times } = this.#plan;
    const met = this.#met[direction];
    if (met >= faults.length * times || ++this.#seen[direction] % every !== 0) return undefined;
    this.#met[direction]++;
    return faults[met % faults.length];
  }
}

/** What a proxy does not pass on: each connection has its own. */
const OF_THE_CONNECTION = /^(?::|connection$|host$|transfer-encoding$|content-length$|keep-alive$|upgrade$|http2-settings$)/;

function main(settings: ProxyArguments): void {
  const tls = { ca: readFileSync(settings.target.caFile, "utf8") };
  let dealer = new Dealer({ faults: [], every: 1, times: 0 });

  async function serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const chunks = await Array.fromAsync(request as AsyncIterable<Uint8Array>);
    // an installer's request is no business of the plan
    const fault = request.url.includes("/serviceaccounts/") ? undefined : dealer.next(request.method);
    const refusal = typeof fault === "object" && "status" in fault ? fault : undefined;
    if (fault === "lose-request") return drop(request);
    if (refusal !== undefined && refusal.isDone !== true) return refuse(response, refusal);
    if (typeof fault === "object" && "delayMs" in fault) await Bun.sleep(fault.delayMs);
    const answer = await forward(request, Buffer.concat(chunks));
    const body = await answer.text();
    if (fault === "lose-reply") return drop(request);
    if (refusal !== undefined) return refuse(response, refusal);
    response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([name]) => !OF_THE_CONNECTION.test(name))));
    response.end(body);
  }

  async function forward({ method, url, headers }: Http2ServerRequest, body: Buffer): Promise<Response> {
    const passed = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.test(name) && name !== "accept-encoding");
    return await fetch(settings.target.url + url, {
      method,
      headers: { ...Object.fromEntries(passed.map(([name, value]) => [name, String(value)])), "accept-encoding": "identity" },
      ...(body.length > 0 && { body }),
      tls,
      // on a kept connection that breaks, a request would be made twice
      keepalive: false,
      redirect: "manual",
    });
  }

  const key = readFileSync(settings.keyFile);
  const server = createSecureServer({ key, cert: readFileSync(settings.certFile), allowHTTP1: true }, (request, response) => {
    serve(request, response).catch((thrown: unknown) => {
      console.error(`${request.method} ${request.url}: ${String(thrown)}`);
      drop(request);
    });
  });
  server.on("sessionError", (thrown) => console.error(String(thrown)));
  server.listen(settings.port, "127.0.0.1");
  const listening = once(server, "listening");
  Bun.serve({
    unix: settings.control,
    async fetch(request) {
      await listening;
      if (request.method === "PUT") dealer = new Dealer((await request.json()) as FaultPlan);
      return Response.json(dealer.met);
    },
  });
}

/** Breaks the whole connection, with every request on it. */
function drop(request: Http2ServerRequest): void {
  if (request.httpVersion.startsWith("2")) request.stream.session?.destroy();
  else request.socket.destroy();
}

main(JSON.parse(process.argv[2] ?? "") as ProxyArguments);
