import { expect, test } from "bun:test";
import { NODES, PODS } from "./core-types.ts";
import { KubeError } from "./kube-error.ts";
import { toQuery, toResourcePath } from "./resource-path.ts";

const POOLS = { group: "netplug.io", version: "v3", plural: "ippools", kind: "IPPool", isNamespaced: false };

test.each([
  [PODS, {}, "/api/v1/pods"],
  [PODS, { namespace: "a" }, "/api/v1/namespaces/a/pods"],
  [PODS, { namespace: "a", name: "b" }, "/api/v1/namespaces/a/pods/b"],
  [PODS, { namespace: "a", name: "b", subresource: "status" }, "/api/v1/namespaces/a/pods/b/status"],
  [NODES, { name: "n" }, "/api/v1/nodes/n"],
  [POOLS, {}, "/apis/netplug.io/v3/ippools"],
  [POOLS, { name: "a..b?c#d " }, "/apis/netplug.io/v3/ippools/a..b%3Fc%23d%20"],
])("%j %j is at %s", (type, target, path) => {
  expect(toResourcePath(type, target)).toBe(path);
});

test.each(["", ".", ".."])("%p is no name: it would lead to another path", (name) => {
  expect(() => toResourcePath(NODES, { name })).toThrow(RangeError);
});

test.each(["n1/status", "../pods", "a%2Fb"])("%p is no object's name: the API server would read another path", (name) => {
  expect(() => toResourcePath(NODES, { name })).toThrow(`address an object: none can have the name "${name}"`);
  expect(() => toResourcePath(PODS, { namespace: name, name: "b" })).toThrow(KubeError);
});

test("a namespaced object without namespace has no path", () => {
  expect(() => toResourcePath(PODS, { name: "b" })).toThrow('address pods "b": it has no namespace');
});

test("a query leaves out what is not set, and escapes the rest", () => {
  expect(toQuery({ a: undefined, b: false, c: "" })).toBe("");
  expect(toQuery({ watch: true, limit: 500, labelSelector: "a=b,c in (d)" })).toBe(
    "?watch=true&limit=500&labelSelector=a%3Db%2Cc%20in%20(d)",
  );
});
