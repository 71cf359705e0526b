import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import { parseYaml, requireUniqueKeys, YamlError } from "./yaml.ts";

const seed = testSeed();

async function faultOf(text: string): Promise<string> {
  const thrown: unknown = await parseYaml(text).catch((error: unknown) => error);
  if (!(thrown instanceof YamlError)) throw new Error(`got ${JSON.stringify(thrown)}, want a YamlError`);
  expect(thrown.message).toStartWith(`${thrown.place}: `);
  return thrown.message;
}

async function jsonFaultOf(json: string): Promise<string | undefined> {
  return await requireUniqueKeys(json).then(
    () => undefined,
    (thrown: unknown) => (thrown as YamlError).message,
  );
}

test.each([
  ["kind: a\nspec:\n  cidr: 1\n  b: 2\n  cidr: 3\n", 'line 5, column 3: the key "cidr"'],
  ["kind: a\nspec:\n  cidr: 1\n\n# more\nspec:\n  nodeSelector: x\n", 'line 6, column 1: the key "spec"'],
  ["a:\n- b: 1\n  c: 2\n  b: 3\n", 'line 4, column 3: the key "b"'],
  ["---\na: 1\n---\nb: 1\nb: 2\n", 'line 5, column 1: the key "b"'],
  ['a/b: 1\n"a/b": 2\n', 'line 2, column 2: the key "a/b"'],
  ["a: 1\r\nb: 2\r\na: 3\r\n", 'line 3, column 1: the key "a"'],
  ["a: |\n  b: 1\n  b: 2\nc: 1\nc: 2\n", 'line 5, column 1: the key "c"'],
  ["a: {b: 1, b: 2}\n", 'line 1, column 11: the key "b"'],
  ["a: [{b: 1}, {b: 1, c: {d: 1, d: 2}}]\n", 'line 1, column 30: the key "d"'],
  ["1: a\n'1': b\n", 'line 2, column 2: the key "1"'],
  ["? a\n: 1\n? a\n: 2\n", 'line 3, column 3: the key "a"'],
])("a key that appears twice in one object is told with its place: %j", async (text, fault) => {
  expect(await faultOf(text)).toBe(`${fault} appears twice in one object`);
});

test.each([
  ["a:\n  b: 1\nc:\n  b: 1\n", [{ a: { b: 1 }, c: { b: 1 } }]],
  ["- a: 1\n- a: 1\n-\n  a: 1\n", [[{ a: 1 }, { a: 1 }, { a: 1 }]]],
  ["a: 1\n---\na: 1\n...\n---\n# nothing\n---\na: 2\n", [{ a: 1 }, { a: 1 }, null, { a: 2 }]],
  ["a: |\n  b: 1\n  b: 2\n", [{ a: "b: 1\nb: 2\n" }]],
  ["base: &x {a: 1, b: 2}\nmore:\n  <<: *x\n  a: 3\n", [{ base: { a: 1, b: 2 }, more: { a: 3, b: 2 } }]],
  ["\ufeffa: 1\r\nb: |\r\n  x\r\n  y\r\n", [{ a: 1, b: "x\ny\n" }]],
  ["__proto__: {a: 1}\nconstructor: 2\n", [JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}')]],
  ["# nothing\n", []],
])("what is none is read: %j", async (text, documents) => {
  expect(await parseYaml(text)).toEqual(documents as unknown[]);
});

test("texts stay what they are, whatever YAML 1.1 made of them", async () => {
  const texts = ["yes", "off", "2026-01-02", "12:34:56:10:20:30", "10.65.0.0/16", "fd00::1", "0b11", "1_000", "v3.31.0"];
  expect(await parseYaml(texts.map((text) => `- ${text}\n`).join(""))).toEqual([texts]);
});

test.each([
  ["a: !has(gpu)\n", 4],
  ["a: ! has(gpu)\n", 4],
  ["a: !has(gpu) || all()\n", undefined],
  ["a: !(has(x) && y == 'z')\n", undefined],
  ["a:\n  - !has(x)\n", 5],
  ["a: {b: !has(x)}\n", 8],
])("a selector that YAML takes for a tag is told: %j", async (text, column) => {
  const fault = await faultOf(text);
  expect(fault).toEndWith(': a text that begins with "!" needs quotes in YAML, where it is a tag');
  if (column !== undefined) expect(fault).toContain(`, column ${column}:`);
});

test('a "!" in a block of text, a comment or quotes is no tag', async () => {
  expect(await parseYaml('# selector: !x\na: |\n  nodeSelector: !has(gpu)\nb: "!has(gpu)"\nc: x != y\nd: !!str 5\n')).toEqual([
    { a: "nodeSelector: !has(gpu)\n", b: "!has(gpu)", c: "x != y", d: "5" },
  ]);
});

test.each([
  ["a: b: c\n", "line 1, column 5: bad indentation, or a text that needs quotes"],
  ["a: @x\n", "line 1, column 4: bad indentation, or a text that needs quotes"],
  ["a:\n  b: 1\n   c: 2\n", "line 3, column 5: bad indentation"],
  ["a:\n\tb: 1\n", "line 2, column 1: tab characters must not be used in indentation"],
  ["a: [1\nb: 2\n", "line 2, column 1: bad indentation, or a bracket or quote that is never closed"],
  ['a: "x\nb: 1\n', "line 2, column 1: bad indentation, or a bracket or quote that is never closed"],
  ["a: *nowhere\n", 'line 1, column 5: unidentified alias "nowhere"'],
  ["a: 1\nb: K\ufffdln\n", "line 2, column 5: got bytes that are no UTF-8"],
  ["a: x\0y\n", "line 1, column 5: null byte"],
  [`a: ${"[".repeat(5_000)}`, "line 1, column 103: more than 100 levels inside each other"],
])("what is no YAML is told with its place: %#", async (text, fault) => {
  expect(await faultOf(text)).toStartWith(fault);
});

test("any text at all is read, or refused with a place", async () => {
  const pieces = fc.constantFrom(
    ..."abc: -?[]{},&*!|>'\"%@`#\n\t\r~<=",
    "\n  ",
    "---\n",
    "...\n",
    "<<: *a",
    "&a ",
    "!!int ",
    "!!map ",
    "\\",
    "🦊",
    "\ud800",
  );
  const text = fc.oneof(
    fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary" }),
  );
  await fc.assert(
    fc.asyncProperty(text, async (written) => {
      try {
        await parseYaml(written);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(YamlError);
        expect((thrown as YamlError).place).toMatch(/^line \d+, column \d+$/);
      }
    }),
    { seed, numRuns: 2_000 },
  );
});

test("what another writer of YAML writes is read as it was", async () => {
  const value = fc.jsonValue({ stringUnit: "grapheme" });
  await fc.assert(
    fc.asyncProperty(value, async (written) => {
      for (const text of [Bun.YAML.stringify(written), Bun.YAML.stringify(written, null, 2), JSON.stringify(written)]) {
        if (text.includes("\ufffd")) continue;
        // By way of JSON, to which -0 is 0.
        expect(JSON.stringify(await parseYaml(text))).toBe(JSON.stringify([written]));
      }
    }),
    { seed, numRuns: 1_000 },
  );
});

test("in JSON a key that appears twice is found, on one line too", async () => {
  const twice = '{\n  "kind": 1,\n  "spec": {\n    "kind": 1\n  },\n  "kind": 2\n}';
  expect(await jsonFaultOf(twice)).toBe('line 6, column 4: the key "kind" appears twice in one object');
  expect(await jsonFaultOf('{"a": {"b": 1, "\\u0062": 2}, "c": "\u0085"}')).toStartWith('line 1, column 17: the key "b"');
  expect(await jsonFaultOf('{"a": {"b": 1}, "c": {"b": 1}}')).toBeUndefined();
});

test("no JSON is taken for one with a key that appears twice, and in all of it such a key is found", async () => {
  const objects = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary", maxDepth: 3 }), {
    minKeys: 1,
    maxKeys: 5,
  });
  await fc.assert(
    fc.asyncProperty(objects, async (written) => {
      const text = JSON.stringify(written);
      fc.pre(!text.includes("\ufffd"));
      expect(await jsonFaultOf(text)).toBeUndefined();
      const [key = ""] = Object.keys(JSON.parse(text) as object);
      expect(await jsonFaultOf(`${text.slice(0, -1)},${JSON.stringify(key)}:0}`)).toEndWith("appears twice in one object");
    }),
    { seed, numRuns: 2_000 },
  );
});

test.each([
  ["a thousand objects", Array.from({ length: 1_000 }, (_, i) => `kind: IPPool\nmetadata: {name: p${i}}\n`).join("---\n")],
  ["many keys", Array.from({ length: 50_000 }, (_, i) => `k${i}: v\n`).join("")],
  ["many anchors", Array.from({ length: 20_000 }, (_, i) => `k${i}: &a${i} {}\nl${i}: *a${i}\n`).join("")],
  ["a long text", `a: |\n${"  b: 1\n".repeat(500_000)}`],
  ["aliases of aliases", `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join("")}`],
])("%s take no longer than they must", async (_, text) => {
  const begun = performance.now();
  await parseYaml(text);
  expect(performance.now() - begun).toBeLessThan(10_000);
});
