import { describe, expect, test } from "bun:test";
import { toNextOrdinals } from "./ipam-block-spare.ts";

describe("what a list says of a block's next addresses", () => {
  test.each([
    [{ listed: [], isAll: true }],
    [{ listed: [[0, 0]], isAll: false }],
    [
      {
        listed: [
          [3, 0],
          [63, 1_760_000_000],
        ],
        isAll: true,
      },
    ],
  ])("%j is taken", (given) => expect(toNextOrdinals(given) as unknown).toEqual(given));

  test.each([
    [undefined],
    [null],
    ["0"],
    [{ listed: [[0, 0]] }],
    [{ listed: [[0, 0]], isAll: "true" }],
    [{ listed: "0,0", isAll: true }],
    [{ listed: [[0]], isAll: true }],
    [{ listed: [[0, 0, 0]], isAll: true }],
    [{ listed: ["00"], isAll: true }],
    [{ listed: [[0, -1]], isAll: true }],
    [{ listed: [[-1, 0]], isAll: true }],
    [{ listed: [[0.5, 0]], isAll: true }],
    [{ listed: [[0, "0"]], isAll: true }],
    [{ listed: [[0, 0], null], isAll: true }],
  ])("%j counts as absent", (given) => expect(toNextOrdinals(given)).toBeUndefined());
});
