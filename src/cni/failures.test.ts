import { describe, expect, test } from "bun:test";
import { NetplugError } from "../lib/errors.ts";
import { throwFirstFailure } from "./failures.ts";

function failureOf(...errors: readonly Error[]): NetplugError {
  try {
    throwFirstFailure(errors.map((error) => ({ ok: false, error })));
  } catch (thrown) {
    return thrown as NetplugError;
  }
  throw new Error("nothing was thrown");
}

const late = (): NetplugError => new NetplugError("tryAgainLater", "wait for the datastore: not done within 60 s");
const kept = new NetplugError("kernelRefused", "delete interface: EPERM", { details: "of container a" });

describe("throwFirstFailure()", () => {
  test("is silent where nothing failed", () => {
    expect(() => throwFirstFailure([{ ok: true }, { ok: true }])).not.toThrow();
  });

  test("puts the others into the details of the first", () => {
    const failure = failureOf(kept, late());
    expect([failure.kind, failure.message, failure.details]).toEqual(["kernelRefused", kept.message, `of container a; ${late().message}`]);
  });

  test("says once what many steps failed of", () => {
    expect(failureOf(kept, late(), late(), late()).details).toBe(`of container a; ${late().message}`);
  });

  test("does not repeat the headline", () => {
    const [first, second, third] = [late(), late(), new NetplugError("tryAgainLater", "end the records of 3 more pods")];
    expect(failureOf(first, second)).toBe(first);
    expect(failureOf(first, second, third).details).toBe(third.message);
  });
});
