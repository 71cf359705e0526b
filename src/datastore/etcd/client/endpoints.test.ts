import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../../../test/support/seeded-random.ts";
import { createEndpoints, shuffle } from "./endpoints.ts";

describe("createEndpoints()", () => {
  test("asks first whoever answered last, and last whoever failed last", () => {
    const endpoints = createEndpoints(["a", "b", "c", "b"]);
    expect(endpoints.inOrder()).toEqual(["a", "b", "c"]);
    endpoints.onFailure("a");
    expect(endpoints.inOrder()).toEqual(["b", "c", "a"]);
    endpoints.onSuccess("c");
    expect(endpoints.inOrder()).toEqual(["c", "b", "a"]);
  });

  test("knows when all have failed and none has answered since", () => {
    const endpoints = createEndpoints(["a", "b"]);
    for (const [happens, endpoint, expected] of [
      ["onFailure", "a", false],
      ["onFailure", "a", false],
      ["onFailure", "b", true],
      ["onSuccess", "b", false],
      ["onFailure", "b", false],
    ] as const) {
      endpoints[happens](endpoint);
      expect(endpoints.haveAllFailed).toBe(expected);
    }
  });
});

describe("shuffle()", () => {
  test("puts each first about as often as the others", () => {
    const random = seededRandom(3);
    const firsts = Array.from({ length: 3_000 }, () => shuffle(["a", "b", "c"], random)[0]);
    for (const endpoint of ["a", "b", "c"]) expect(firsts.filter((first) => first === endpoint).length).toBeWithin(900, 1_100);
  });
});
