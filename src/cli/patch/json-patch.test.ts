import { expect, test } from "bun:test";
import { applyJsonPatch } from "./json-patch.ts";

/** @see RFC 6902, appendix A, by its numbers; and section 4 for what has none */
test.each<[section: string, document: unknown, operations: readonly object[], result: unknown]>([
  ["A.1", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { baz: "qux", foo: "bar" }],
  ["A.2", { foo: ["bar", "baz"] }, [{ op: "add", path: "/foo/1", value: "qux" }], { foo: ["bar", "qux", "baz"] }],
  ["A.3", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
  ["A.4", { foo: ["bar", "qux", "baz"] }, [{ op: "remove", path: "/foo/1" }], { foo: ["bar", "baz"] }],
  ["A.5", { baz: "qux", foo: "bar" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo", foo: "bar" }],
  [
    "A.6",
    { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
    [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
    { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
  ],
  [
    "A.7",
    { foo: ["all", "grass", "cows", "eat"] },
    [{ op: "move", from: "/foo/1", path: "/foo/3" }],
    { foo: ["all", "cows", "eat", "grass"] },
  ],
  [
    "A.8",
    { baz: "qux", foo: ["a", 2, "c"] },
    [
      { op: "test", path: "/baz", value: "qux" },
      { op: "test", path: "/foo/1", value: 2 },
    ],
    { baz: "qux", foo: ["a", 2, "c"] },
  ],
  ["A.10", { foo: "bar" }, [{ op: "add", path: "/child", value: { grandchild: {} } }], { foo: "bar", child: { grandchild: {} } }],
  ["A.11", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux", xyz: 123 }], { foo: "bar", baz: "qux" }],
  ["A.14", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
  ["A.16", { foo: ["bar"] }, [{ op: "add", path: "/foo/-", value: ["abc", "def"] }], { foo: ["bar", ["abc", "def"]] }],
  ["4.1, the whole document", { foo: "bar" }, [{ op: "add", path: "", value: [1] }], [1]],
  ["4.1, a member that exists", { foo: "bar" }, [{ op: "add", path: "/foo", value: null }], { foo: null }],
  ["4.1, the end of an array", { foo: ["bar"] }, [{ op: "add", path: "/foo/1", value: "baz" }], { foo: ["bar", "baz"] }],
  ["4.3, the whole document", { foo: "bar" }, [{ op: "replace", path: "", value: { baz: 1 } }], { baz: 1 }],
  ["4.4, deeper beside it", { a: { b: 1 }, c: {} }, [{ op: "move", from: "/a", path: "/c/a" }], { c: { a: { b: 1 } } }],
  ["4.4, onto itself", { a: { b: 1 } }, [{ op: "move", from: "/a", path: "/a" }], { a: { b: 1 } }],
  ["4.5, into itself", { a: { b: 1 } }, [{ op: "copy", from: "/a", path: "/a/c" }], { a: { b: 1, c: { b: 1 } } }],
  ["4.6, members in another order", { a: { b: 1, c: [] } }, [{ op: "test", path: "/a", value: { c: [], b: 1 } }], { a: { b: 1, c: [] } }],
])("RFC 6902, %s", (_section, document, operations, result) => {
  const before = structuredClone(document);
  expect(applyJsonPatch(document, operations)).toEqual(result);
  expect(document).toEqual(before);
});

test("a name that objects inherit is a name like others", () => {
  const patched = applyJsonPatch({}, [{ op: "add", path: "/__proto__", value: { a: 1 } }]);
  expect(JSON.stringify(patched)).toBe('{"__proto__":{"a":1}}');
  expect(() => applyJsonPatch({}, [{ op: "test", path: "/toString", value: 1 }])).toThrow('there is nothing at "/toString"');
});

test.each<[section: string, document: unknown, operation: unknown, fault: string]>([
  ["A.9", { baz: "qux" }, { op: "test", path: "/baz", value: "bar" }, 'test of "/baz": got "qux", want "bar"'],
  ["A.12", { foo: "bar" }, { op: "add", path: "/baz/bat", value: "qux" }, 'there is no place "/baz/bat"'],
  ["A.15", { "/": 9, "~1": 10 }, { op: "test", path: "/~01", value: "10" }, 'test of "/~01": got 10, want "10"'],
  ["4.1, past the end", { foo: ["bar"] }, { op: "add", path: "/foo/2", value: 1 }, 'there is no place "/foo/2"'],
  ["4.1, inside a text", { foo: "bar" }, { op: "add", path: "/foo/0", value: 1 }, 'there is no place "/foo/0"'],
  ["4.1, nothing to add", {}, { op: "add", path: "/foo" }, "value: is missing"],
  ["4.2, nothing to remove", { foo: [1] }, { op: "remove", path: "/foo/1" }, 'there is nothing at "/foo/1"'],
  ["4.2, behind the last", { foo: [1] }, { op: "remove", path: "/foo/-" }, 'there is nothing at "/foo/-"'],
  ["4.3, nothing to replace", { foo: [1] }, { op: "replace", path: "/a~1b", value: 1 }, 'there is nothing at "/a~1b"'],
  ["4.4, into itself", { a: { b: {} } }, { op: "move", from: "/a", path: "/a/b" }, "got a place inside itself to move to"],
  ["4.4, nothing to move", {}, { op: "move", from: "/a", path: "/b" }, 'there is nothing at "/a"'],
  ["4.4, from nowhere", {}, { op: "move", path: "/b" }, "from: got null, want a text such as"],
  ["4.5, nothing to copy", {}, { op: "copy", from: "/a", path: "/b" }, 'there is nothing at "/a"'],
  ["4, no such operation", {}, { op: "merge", path: "" }, 'op: got "merge", want "add"'],
  ["4, no operation", {}, { path: "" }, "op: got null, want"],
  ["3, no object", {}, "add", 'got "add", want an object'],
  ["RFC 6901, no pointer", {}, { op: "add", path: "foo", value: 1 }, 'path: got "foo", want a text such as'],
  ["RFC 6901, an index with a zero in front", { foo: [1, 2] }, { op: "remove", path: "/foo/01" }, 'there is nothing at "/foo/01"'],
])("RFC 6902, %s is refused, by the operation's number", (_section, document, operation, fault) => {
  const first = { op: "test", path: "", value: document };
  expect(() => applyJsonPatch(document, [first, operation])).toThrow(`apply patch: operation 2: ${fault}`);
});
