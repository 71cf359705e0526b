import { describe, expect, test } from "bun:test";
import { KubeError } from "./kube-error.ts";

describe("what several tries end with", () => {
  const busy = new KubeError("throttled", "later", { status: 429 });
  const unknown = new KubeError("serverFault", "timed out", { status: 500, isOutcomeUnknown: true });
  const denied = { verb: "patch", resource: "pods/status", namespace: "d" };
  const cause = new RangeError("x");
  const last = new KubeError("forbidden", "not permitted", { status: 403, denied, cause, details: "the server's words" });

  test("is the last failure with all that it says", () => {
    expect(last.after([])).toBe(last);
    expect(last.after([busy])).toMatchObject({
      reason: "forbidden",
      message: "not permitted",
      status: 403,
      denied,
      cause,
      details: "the server's words",
      isOutcomeUnknown: false,
    });
    expect(busy.after([unknown]).denied).toBeUndefined();
  });

  test.each([
    ["first", [unknown, busy]],
    ["last", [busy, unknown]],
    ["only", [unknown]],
  ])("may have been carried out when the %s try may", (_name, earlier) => {
    expect(last.after(earlier).isOutcomeUnknown).toBe(true);
    expect(unknown.after([busy]).isOutcomeUnknown).toBe(true);
  });

  test("tells the failure before it where that was another", () => {
    expect(busy.after([busy, unknown]).details).toBe("before that: timed out");
    expect(busy.after([unknown, busy]).details).toBeUndefined();
  });
});
