import { describe, expect, test } from "bun:test";
import { toRefusal } from "../wire/gateway/refusal.ts";
import { classify, EtcdFailure, isSurelyNotApplied, STATUS } from "./failure.ts";

/** What etcd answers, with its gRPC status, what that means, and whether a commit that got it was surely not applied. */
const REFUSALS = [
  ["etcdserver: no leader", STATUS.unavailable, "try-elsewhere", true],
  ["etcdserver: rpc not supported for learner", STATUS.unavailable, "try-elsewhere", true],
  ["etcdserver: not capable", STATUS.unavailable, "try-elsewhere", true],
  ["etcdserver: leader changed", STATUS.unavailable, "try-elsewhere", false],
  ["etcdserver: request timed out", STATUS.unavailable, "try-elsewhere", false],
  ["etcdserver: request timed out, possibly due to previous leader failure", STATUS.unavailable, "try-elsewhere", false],
  ["etcdserver: server stopped", STATUS.unavailable, "try-elsewhere", false],
  ["transport is closing", STATUS.unavailable, "try-elsewhere", false],
  ["context deadline exceeded", 4, "try-elsewhere", false],
  ["stream terminated", 13, "try-elsewhere", false],
  ["etcdserver: too many requests", STATUS.resourceExhausted, "try-elsewhere", true],
  ["etcdserver: mvcc: database space exceeded", STATUS.resourceExhausted, "no-space", true],
  ["etcdserver: corrupt cluster", 15, "corrupt", true],
  ["etcdserver: permission denied", STATUS.permissionDenied, "denied", true],
  ["etcdserver: authentication failed, invalid user ID or password", STATUS.invalidArgument, "denied", true],
  ["auth: authentication failed, password was given for no password user", 2, "denied", true],
  ["etcdserver: user name is empty", STATUS.invalidArgument, "needs-user", true],
  ["etcdserver: invalid auth token", STATUS.unauthenticated, "log-in-again", true],
  ["etcdserver: revision of auth store is old", STATUS.invalidArgument, "log-in-again", true],
  ["etcdserver: mvcc: required revision has been compacted", STATUS.outOfRange, "compacted", true],
  ["etcdserver: mvcc: required revision is a future revision", STATUS.outOfRange, "compacted", true],
  ["etcdserver: too many operations in txn request", STATUS.invalidArgument, "defect", true],
  ["etcdserver: request is too large", STATUS.invalidArgument, "defect", true],
  ["grpc: received message larger than max (2200162 vs. 2097152)", STATUS.resourceExhausted, "defect", true],
] as const;

describe("a refusal", () => {
  test.each(REFUSALS)("%p (%i) means %p; surely not applied: %p", (message, status, failureClass, isNotApplied) => {
    const failure = new EtcdFailure("refused", message, status);
    expect(classify(failure)).toBe(failureClass);
    expect(isSurelyNotApplied(failure)).toBe(isNotApplied);
  });
});

describe("toRefusal()", () => {
  test.each([
    [400, '{"error":"etcdserver: user name is empty","message":"etcdserver: user name is empty","code":3}', "refused", 3],
    [503, '{"code":14,"message":"etcdserver: no leader"}', "refused", 14],
    [503, '{"error":"connection closed","message":"connection closed","code":14}', "unsupported", 0],
    [503, '{"code":14,"message":"connection error: desc = \\"error reading server preface: tls: bad certificate\\""}', "unsupported", 0],
    [400, "CommonName of client sending a request against gateway will be ignored and not used as expected\n", "unsupported", 0],
    [404, "404 page not found\n", "unsupported", 0],
    [502, "<html>bad gateway</html>", "refused", 14],
    [500, "null", "refused", 14],
    [500, "", "refused", 14],
  ] as const)("of HTTP status %i with %p is %p, gRPC status %i", (httpStatus, body, reason, status) => {
    expect(toRefusal(httpStatus, body)).toMatchObject({ reason, status });
  });

  test("without a word from etcd leaves it open whether a commit was applied", () => {
    expect(isSurelyNotApplied(toRefusal(502, "<html>"))).toBe(false);
  });
});
