import { afterEach, expect, test } from "bun:test";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { failureOf } from "../../../../../test/support/failure-of.ts";
import { EtcdFailure, isSurelyNotApplied } from "../../protocol/failure.ts";
import { Connection } from "./connection.ts";

const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** What a request fails with when the server answers with these headers, and with this body. */
async function refusalWith(headers: http2.OutgoingHttpHeaders, body = ""): Promise<EtcdFailure> {
  const server = http2.createServer();
  server.on("stream", (stream: http2.ServerHttp2Stream) => {
    stream.respond(headers, { endStream: body === "" });
    if (body !== "") stream.end(body);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const connection = new Connection();
  stops.push(() => {
    connection.close();
    server.close();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { endpoint, signal: AbortSignal.timeout(10_000) };
  return await failureOf(connection.unary("/etcdserverpb.KV/Txn", new Uint8Array(1), target), EtcdFailure);
}

const GRPC = { ":status": 200, "content-type": "application/grpc" };

test.each([
  ["disk is 100%25 full", "disk is 100% full"],
  ["disk is 100% full", "disk is 100% full"],
  ["%E6%9D%B1%E4", "%E6%9D%B1%E4"],
  ["%E6%9D%B1", "東"],
])("the reason %j of a refusal is shown as %j", async (sent, shown) => {
  const { reason, status, message } = await refusalWith({ ...GRPC, "grpc-status": "14", "grpc-message": sent });
  expect([reason, status, message]).toEqual(["refused", 14, shown]);
});

test.each([
  [404, true],
  [401, true],
  [503, false],
  [502, false],
])("a page with HTTP status %d is named, and means that a commit was not applied: %p", async (httpStatus, isNotApplied) => {
  for (const body of ["<html>nothing here</html>", ""]) {
    const failure = await refusalWith({ ":status": httpStatus, "content-type": "text/html" }, body);
    expect([failure.message, isSurelyNotApplied(failure)]).toEqual([`HTTP status ${httpStatus}, no gRPC`, isNotApplied]);
  }
});

test("a page with HTTP status 200 is no reply, and leaves the outcome open", async () => {
  const failure = await refusalWith({ ":status": 200, "content-type": "text/html" }, "<html>welcome</html>");
  expect([failure.reason, failure.message]).toEqual(["lost", "the reply is compressed, or not gRPC"]);
});

test("a success without a message is no reply, and leaves the outcome open", async () => {
  const { reason, message } = await refusalWith({ ...GRPC, "grpc-status": "0" });
  expect([reason, message]).toEqual(["lost", "the reply is empty"]);
});
