import { expect, test } from "bun:test";
import { STATUS } from "../../protocol/failure.ts";
import { toRefusal } from "./refusal.ts";

function refusalOf(message: string): readonly [reason: string, status: number | undefined] {
  const { reason, status } = toRefusal(503, JSON.stringify({ error: message, message, code: STATUS.unavailable }));
  return [reason, status];
}

test.each([
  'connection error: desc = "transport: authentication handshake failed: remote error: tls: bad certificate"',
  'connection error: desc = "error reading server preface: remote error: tls: bad certificate"',
  "connection closed",
  "write tcp 127.0.0.1:58302->127.0.0.1:2379: write: broken pipe",
  "write tcp 127.0.0.1:58302->127.0.0.1:2379: write: connection reset by peer",
  "use of closed network connection",
])("a gateway that its own server does not let in has asked nothing: %s", (message) => {
  expect(refusalOf(message)[0]).toBe("unsupported");
});

test.each([
  "etcdserver: no leader",
  "transport is closing",
  'connection error: desc = "error reading from server: EOF"',
  'connection error: desc = "error reading from server: use of closed network connection"',
])("what may have been asked is no such refusal: %s", (message) => {
  expect(refusalOf(message)).toEqual(["refused", STATUS.unavailable]);
});
