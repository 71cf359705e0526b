import { describe, expect, test } from "bun:test";
import { requestFor } from "../../../test/support/ipam/ipam.ts";
import { parseOwner, parseRequest, toRequestText } from "./request-text.ts";

const request = requestFor("c1", "n1", { families: [4, 6], pools: { 4: ["blue", "10.65.0.0/24"] }, namespaceLabels: { team: "shop" } });
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
    ["labels that are numbers", changed("namespaceLabels", { team: 1 })],
    ["more than one of ours can be", changed("namespaceLabels", { team: "x".repeat(70_000) })],
  ])("%s", (_, said) => expect(parseRequest(said, "etcd")).toBeUndefined());

  test.each([
    ["nothing yet", ""],
    ["a list", "[]"],
    ["another form, of another version", changed("form", 2)],
    ["no owner", changed("owner", undefined)],
    ["an owner without a container", changed("containerID", undefined, "owner")],
  ])("and has no owner: %s", (_, said) => expect(parseOwner(said)).toBeUndefined());
});
