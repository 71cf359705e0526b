import { expect, test } from "bun:test";
import { describeDuplicateKey } from "./duplicate-keys.ts";

const yaml = (text: string): string | undefined => describeDuplicateKey(text, (one) => Bun.YAML.parse(one));

test.each([
  ["kind: a\nspec:\n  cidr: 1\n  b: 2\n  cidr: 3\n", 'line 5: the key "cidr" stands twice in one object'],
  ["kind: a\nspec:\n  cidr: 1\n\n# more\nspec:\n  nodeSelector: x\n", 'line 6: the key "spec"'],
  ["a:\n- b: 1\n  c: 2\n  b: 3\n", 'line 4: the key "b"'],
  ["---\na: 1\n---\nb: 1\nb: 2\n", 'line 5: the key "b"'],
  ['"a/b": 1\na/b: 2\n', 'line 2: the key "a/b"'],
  ["a: 1\r\nb: 2\r\na: 3\r\n", 'line 3: the key "a"'],
  ["a: |\n  b: 1\n  b: 2\nc: 1\nc: 2\n", 'line 5: the key "c"'],
])("in YAML it is found: %j", (text, fault) => {
  expect(yaml(text)).toStartWith(fault);
});

test.each([
  "a:\n  b: 1\nc:\n  b: 1\n",
  "- a: 1\n- a: 1\n- a: 1\n  b: 1\n-\n  a: 1\n",
  "a: 1\n---\na: 1\n",
  "a: |\n  b: 1\n  b: 2\n",
  'a: "\n  b: 1\n  b: 2\n  "\n',
  "a: {\n  b: {\n  x: 1 },\n  c: {\n  x: 1 }}\n",
  "a:\n  - - b: 1\n    - b: 1\n",
  "__proto__: 1\nb: 2\n",
])("what is none is not: %j", (text) => {
  Bun.YAML.parse(text);
  expect(yaml(text)).toBeUndefined();
});

test("in JSON it is found, too", () => {
  const json = (text: string): string | undefined => describeDuplicateKey(text, JSON.parse);
  expect(json('{\n  "kind": 1,\n  "spec": {\n    "kind": 1\n  },\n  "kind": 2\n}')).toStartWith('line 6: the key "kind"');
  expect(json('{\n  "a": {\n    "b": 1\n  },\n  "c": {\n    "b": 1\n  }\n}')).toBeUndefined();
});

test("many that look like it cost little", () => {
  const text = `a: |\n${"  b: 1\n".repeat(100_000)}`;
  const begun = performance.now();
  expect(yaml(text)).toBeUndefined();
  expect(performance.now() - begun).toBeLessThan(10_000);
});
