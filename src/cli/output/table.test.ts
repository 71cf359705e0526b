import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import { GrowingTable, toTable } from "./table.ts";

const seed = testSeed();
const plain = { colour: false };

test("columns line up, numbers at the right, without blanks at the end of a line", () => {
  expect(
    toTable(
      ["NAME", "TOTAL", "NODE"],
      [
        ["a", "7", "n1"],
        ["longer", "1234567", ""],
      ],
      { colour: false, right: new Set([1]) },
    ),
  ).toBe(["NAME       TOTAL   NODE", "a              7   n1", "longer   1234567", ""].join("\n"));
});

test("characters that take two columns, or none, count as what they take", () => {
  const table = toTable(
    ["NAME", "X"],
    [
      ["東京", "1"],
      ["Zürich", "2"],
      ["e\u0301t\u00e9", "3"],
      ["한국어", "4"],
      ["🚀", "5"],
    ],
    plain,
  );
  expect(table).toBe(["NAME     X", "東京     1", "Zürich   2", "e\u0301t\u00e9      3", "한국어   4", "🚀       5", ""].join("\n"));
});

test("nothing that is stored moves the cursor or turns the direction of writing", () => {
  const table = toTable(["NAME"], [["\u001b[2J"], ["a\r\nb"], ["\u202eabc"], ["\u009b1m"], ["\ud800"]], plain);
  expect(table).toBe(["NAME", "\\u{1b}[2J", "a\\u{d}\\u{a}b", "\\u{202e}abc", "\\u{9b}1m", "\ufffd", ""].join("\n"));
});

test("a table may have as many rows as there are", () => {
  const rows = Array.from({ length: 300_000 }, (_, i) => [String(i)]);
  expect(toTable(["N"], rows, plain)).toEndWith("\n299999\n");
});

test("only the header stands out, and only where colour is wanted", () => {
  expect(toTable(["A"], [["b"]], { colour: true })).toBe("\u001b[1mA\u001b[22m\nb\n");
});

test("every cell begins where its heading does, whatever stands in the cells before", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 12 }), fc.nat()), { maxLength: 6 }), (rows) => {
      const lines = toTable(
        ["FIRST", "SECOND"],
        rows.map(([first, second]) => [first, `|${second}`]),
        plain,
      )
        .trimEnd()
        .split("\n");
      const columns = lines.slice(1).map((line) => Bun.stringWidth(line.slice(0, line.lastIndexOf("|"))));
      for (const column of columns) expect(column).toBe(lines[0]?.indexOf("SECOND") ?? -1);
    }),
    { seed, numRuns: 300 },
  );
});

test("a table that grows has its header once, and each row in line with all before it", () => {
  const table = new GrowingTable(["NAME", "X"], { colour: true });
  expect(table.add([["a", "1"]])).toBe("\u001b[1mNAME   X\u001b[22m\na      1\n");
  expect(table.add([["longer", "2"]])).toBe("longer   2\n");
  expect(table.add([["b", "3"]])).toBe("b        3\n");
  expect(table.add([])).toBe("");
  expect(new GrowingTable(["NAME"], { ...plain, withoutHeader: true }).add([])).toBe("");
});
