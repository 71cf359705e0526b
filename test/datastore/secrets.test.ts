/** What must never be told: passwords and tokens, whatever goes wrong and however it is looked at. */

import { describe, expect, test } from "bun:test";
import type { NetplugError } from "../../src/lib/errors.ts";
import { connectTcp } from "../../src/linux/tcp.ts";
import { IMPATIENT, openEtcd } from "./open-etcd.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn } from "./steps.ts";

const PASSWORD = "canary-password";
const TOKEN = "canary-token";

/** Answers of something that plays etcd, to all that follows the log-in. */
const REPLIES = {
  "a refusal": () => Response.json({ error: "etcdserver: permission denied", code: 7 }, { status: 403 }),
  "a lasting doubt about the token": () => Response.json({ error: "etcdserver: invalid auth token", code: 16 }, { status: 401 }),
  "no JSON": () => new Response("<html>"),
  "an error page": () => new Response("<html>", { status: 502 }),
  "a redirection": () => Response.redirect("http://127.0.0.1:1/"),
  silence: () => new Promise<Response>(() => undefined),
} as const;

describe.concurrent.each([
  ["fetch", {}],
  ["sockets of our own", { connect: connectTcp }],
] as const)("over %s", (_, ports) => {
  test.each([307, 302])("a redirection with status %i takes neither password nor token nor a commit elsewhere", async (status) => {
    const seen: string[] = [];
    const hear = (request: Request): number => seen.push(request.url);
    using elsewhere = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => new Response(String(hear(request))) });
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(null, { status, headers: { location: `http://127.0.0.1:${elsewhere.port}/v3/kv/txn` } }),
    });
    const endpoints = [`http://127.0.0.1:${server.port}`];
    for (const user of [{}, { username: "netplug", password: PASSWORD }])
      await failureOf(create(openEtcd({ endpoints, ...user }, { ...ports, limits: IMPATIENT }), "a"));
    expect(seen).toEqual([]);
  });

  test.each(Object.entries(REPLIES))("%s tells neither password nor token", async (_name, reply) => {
    const seen: string[] = [];
    using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(request) {
        seen.push(request.headers.get("authorization") ?? (await request.text()));
        return request.url.endsWith("/authenticate") ? Response.json({ token: TOKEN }) : await reply();
      },
    });
    const config = { endpoints: [`http://127.0.0.1:${server.port}`], username: "netplug", password: PASSWORD };
    const open = () => openEtcd(config, { ...ports, limits: IMPATIENT });
    const errors: NetplugError[] = [];
    // again where the time was over before there was a token
    do errors.push(...(await Promise.all([failureOf(namesIn(open())), failureOf(create(open(), "a"))])));
    while (!seen.join().includes(TOKEN));
    expect(seen.join()).toContain(PASSWORD);
    for (const error of errors) {
      for (let link: unknown = error; link instanceof Error; link = link.cause) {
        const told = [String(link), link.stack, Bun.inspect(link, { depth: 9 }), JSON.stringify(link)].join();
        expect(told).not.toMatch(/canary/);
      }
    }
  });
});
