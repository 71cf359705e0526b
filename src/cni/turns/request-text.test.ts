import { describe, expect, test } from "bun:test";
import { requestFor } from "../../../test/support/ipam/ipam.ts";
import { parseOwner, parseRequest, toRequestText } from "./request-text.ts";

const request = requestFor("c1", "n1", {
  families: [4, 6],
  pools: { 4: ["blue", "10.65.0.0/24"] },
  namespaceLabels: { team: "shop" },
  podLabels: { app: "web" },
});
const text = toRequestText(request, "etcd");

/** The text with one thing changed. */
function changed(key: string, value: unknown, within?: string): string {
  const said = JSON.parse(text) as Record<string, Record<string, unknown>>;
  if (within === undefined) Object.assign(said, { [key]: value });
  else Object.assign(said[within] ?? {}, { [key]: value });
  return JSON.stringify(said);
}

test("says all that somebody else must know to serve it", () => {
  expect(parseRequest(text, "etcd")).toEqual(request);
});

test("is nobody's who works with another datastore, but says to all whose it is", () => {
  expect(parseRequest(text, "kubernetes")).toBeUndefined();
  expect(parseOwner(text)).toEqual(request.owner);
});

describe("beside the version before, which knows no labels of pods,", () => {
  const { families, pools, namespaceLabels, owner } = request;
  const before = JSON.stringify({ form: 1, datastoreKey: "etcd", owner, families, pools, namespaceLabels });

  test("is not served by it, and has its owner where it looked for that", () => {
    // It serves what has these, and gives addresses of every pool whose other selectors match.
    const { form, namespaceLabels: where, owner: whose } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    expect([form, where, whose]).toEqual([1, undefined, owner]);
  });

  test("serves none of its requests, as nobody knows which pools are theirs, and finds whose they are", () => {
    expect(parseRequest(before, "etcd")).toBeUndefined();
    expect(parseOwner(before)).toEqual(owner);
  });
});

describe("is no request", () => {
  test.each([
    ["nothing yet", ""],
    ["a part of it, as its writer has got so far", text.slice(0, -1)],
    ["no JSON", "{"],
    ["a list", "[]"],
    ["another form, of another version", changed("form", 2)],
    ["no owner", changed("owner", undefined)],
    ["an owner without a container", changed("containerID", undefined, "owner")],
    ["an owner whose pod is a number", changed("pod", 7, "owner")],
    ["no families", changed("families", "4")],
    ["an unknown family", changed("families", [5])],
    ["no pools", changed("pools", [])],
    ["pools that are no list", changed("pools", { 4: "blue" })],
    ["pools that are numbers", changed("pools", { 4: [1] })],
    ["no labels", changed("labels", undefined)],
    ["no labels of the pod", changed("pod", undefined, "labels")],
    ["no labels of the namespace", changed("namespace", undefined, "labels")],
    ["labels of the namespace that are numbers", changed("namespace", { team: 1 }, "labels")],
    ["labels of the pod that are numbers", changed("pod", { app: 1 }, "labels")],
    ["more than one of ours can be", changed("pod", { app: "x".repeat(70_000) }, "labels")],
  ])("%s", (_, said) => expect(parseRequest(said, "etcd")).toBeUndefined());

  test.each([
    ["nothing yet", ""],
    ["a list", "[]"],
    ["another form, of another version", changed("form", 2)],
    ["no owner", changed("owner", undefined)],
    ["an owner without a container", changed("containerID", undefined, "owner")],
  ])("and has no owner: %s", (_, said) => expect(parseOwner(said)).toBeUndefined());
});
