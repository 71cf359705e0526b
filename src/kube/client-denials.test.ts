/** What a client does after an API server has denied something. */

import { expect, test } from "bun:test";
import { clientOf, startFakeApiServer, statusAnswer } from "../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../test/support/failure-of.ts";
import { NODES } from "./core-types.ts";
import { KubeError } from "./kube-error.ts";

const NODE = { metadata: { name: "n" } };
const DENIED = 'nodes "n" is forbidden: User "u" cannot get resource "nodes" in API group "" at the cluster scope';

test.each(["get", "patch"] as const)("%s is made again: a server that has just started has not read its roles yet", async (verb) => {
  const denied = () => statusAnswer(403, "Forbidden", DENIED);
  const answers = [denied, denied, () => Response.json(NODE)];
  const notReady = [403, 500];
  await using server = startFakeApiServer(
    (_request, before) => (answers[before] ?? Response.error)(),
    () => notReady.shift() ?? 200,
  );
  const client = clientOf(server);
  const body = { type: "merge", body: {} } as const;
  expect(await (verb === "get" ? client.get(NODES, { name: "n" }) : client.patch(NODES, { name: "n" }, body))).toEqual(NODE);
  expect([server.seen.length, notReady.length]).toEqual([3, 0]);
});

test("where the server never says that it is ready, a permission is missing, and the doubt is told", async () => {
  await using server = startFakeApiServer(
    () => statusAnswer(403, "Forbidden", DENIED),
    () => 500,
  );
  const failure = await failureOf(clientOf(server).get(NODES, { name: "n" }, { limitMs: 1_000 }), KubeError);
  const message = "get nodes is not permitted; the API server does not say that it is ready: it may have just started";
  expect(failure).toMatchObject({ code: 108, reason: "forbidden", message, details: DENIED });
  expect(server.seen.length).toBeGreaterThan(1);
});

test.each([200, 404])(
  "it is made again once where the server answers %i when it is asked whether it is ready: it may have become so meanwhile",
  async (status) => {
    const denied = () => statusAnswer(403, "Forbidden", DENIED);
    const answers = [denied, () => Response.json(NODE), denied, denied];
    await using server = startFakeApiServer(
      (_request, before) => (answers[before] ?? Response.error)(),
      () => status,
    );
    const client = clientOf(server);
    expect(await client.get(NODES, { name: "n" })).toEqual(NODE);
    expect((await failureOf(client.get(NODES, { name: "n" }))).message).toBe("get nodes is not permitted");
    expect(server.seen).toHaveLength(4);
    // and three questions whether it is ready
    expect(client.requester.counts).toEqual({ requests: 4 + 3, retries: 2 });
  },
);

test("where it fails otherwise when it is made again, what was denied before is told, too", async () => {
  const answers = [() => statusAnswer(403, "Forbidden", DENIED), () => new Response("sorry", { status: 421 })];
  await using server = startFakeApiServer((_request, before) => (answers[before] ?? Response.error)());
  const failure = await failureOf(clientOf(server).get(NODES, { name: "n" }), KubeError);
  expect(failure).toMatchObject({ reason: "unexpected", details: "before that: get nodes is not permitted" });
});

test("it is not made again where admission refuses it", async () => {
  await using starting = startFakeApiServer(
    () => statusAnswer(403, "Forbidden", "exceeded quota"),
    () => 500,
  );
  expect((await failureOf(clientOf(starting).create(NODES, NODE))).message).toContain("exceeded quota");
  expect(starting.seen).toHaveLength(1);
});
