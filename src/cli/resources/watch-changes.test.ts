import { describe, expect, test } from "bun:test";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { API_VERSION, type Resource } from "../../api/resource.ts";
import type { Datastore, Revision, WatchEvent } from "../../datastore/datastore.ts";
import { makeBlock } from "../../../test/datastore/blocks.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parseKind } from "../arguments/kind-names.ts";
import { parseLabelSelector } from "../arguments/label-selector.ts";
import { toBlockResource } from "./block-resource.ts";
import type { Scope } from "./find-resources.ts";
import { watchChanges } from "./watch-changes.ts";

const RESET: WatchEvent = { type: "reset" };
const IN_SYNC: WatchEvent = { type: "in-sync" };

function node(name: string, revision: string, rack = "r1"): Resource<"Node"> {
  return { apiVersion: API_VERSION, kind: "Node", metadata: { name, resourceVersion: revision, labels: { rack } }, spec: {} };
}

function endpoint(namespace: string): Resource<"WorkloadEndpoint"> {
  const spec = { orchestrator: "cni", node: "n1", endpoint: "eth0" } as const;
  return { apiVersion: API_VERSION, kind: "WorkloadEndpoint", metadata: { name: "w", namespace }, spec };
}

const put = (value: Resource): WatchEvent => ({
  type: "put",
  stored: { value, revision: (value.metadata.resourceVersion ?? "") as Revision },
});
const gone = (name: string): WatchEvent => ({ type: "delete", ref: { kind: "Node", name } });

interface Case {
  readonly kind?: "Node" | "WorkloadEndpoint" | "IPAMBlock";
  readonly names?: readonly string[];
  readonly scope?: Partial<Scope>;
  readonly found?: readonly Resource<string>[];
}

/** What is told of events: `ADDED a`. */
async function told(
  events: readonly WatchEvent[],
  { kind = "Node", names = [], scope, found = [] }: Case = {},
): Promise<readonly string[]> {
  const datastore = {
    type: "etcdv3",
    async *watch() {
      for (const event of events) yield await Promise.resolve(event);
    },
  } as unknown as Datastore;
  const texts: string[] = [];
  const { signal } = new AbortController();
  const start = {
    found,
    signal,
    onUnreadable: (reason: string) => void texts.push(reason),
    onInterruption: (failure?: NetplugError) => void texts.push(failure?.message ?? "resumed"),
  };
  for await (const changes of watchChanges(datastore, { info: parseKind(kind), names }, { namespace: undefined, ...scope }, start))
    texts.push(...changes.map(({ type, object: { metadata } }) => [type, metadata.namespace, metadata.name].filter(Boolean).join(" ")));
  return texts;
}

test("what was found is not told again, unless it differs in more than its revision", async () => {
  const found = [node("a", "1"), node("b", "1")];
  expect(await told([RESET, put(node("a", "2")), put(node("b", "2", "r9")), IN_SYNC], { found })).toEqual(["MODIFIED b"]);
});

test("an interruption is told, and what comes after it", async () => {
  const failure = new NetplugError("tryAgainLater", "away");
  const events: readonly WatchEvent[] = [{ type: "interrupted", failure }, { type: "resumed" }, put(node("a", "1"))];
  expect(await told([RESET, IN_SYNC, ...events])).toEqual(["away", "resumed", "ADDED a"]);
});

test("changes are told as they come", async () => {
  const changes = [put(node("a", "2")), put(node("a", "3", "r2")), put(node("a", "4", "r2")), gone("a"), gone("a"), put(node("a", "5"))];
  expect(await told([RESET, IN_SYNC, ...changes])).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED a"]);
});

test("what happened while nobody was told is told when the next snapshot is complete", async () => {
  const found = [node("kept", "1"), node("gone", "1"), node("changed", "1")];
  const again = [RESET, put(node("new", "7")), put(node("kept", "1")), put(node("changed", "8", "r2"))];
  expect(await told([...again, RESET, ...again.slice(1), IN_SYNC], { found })).toEqual(["DELETED gone", "MODIFIED changed", "ADDED new"]);
});

test("an object is gone when its labels no longer fit, and new when they do again", async () => {
  const selector = parseLabelSelector("rack=r1");
  const changes = [
    put(node("a", "2")),
    put(node("b", "2", "r2")),
    put(node("a", "3", "r2")),
    put(node("a", "4", "r3")),
    put(node("a", "5")),
  ];
  expect(await told([RESET, IN_SYNC, ...changes], { scope: { selector } })).toEqual(["ADDED a", "DELETED a", "ADDED a"]);
});

test("only objects that were named are told, and those of the namespace", async () => {
  expect(await told([RESET, put(node("a", "1")), put(node("b", "1")), IN_SYNC, gone("a")], { names: ["b"] })).toEqual(["ADDED b"]);
  const endpoints = [put(endpoint("default")), put(endpoint("prod"))];
  const kind = "WorkloadEndpoint";
  expect(await told([RESET, IN_SYNC, ...endpoints], { kind, scope: { namespace: "prod" } })).toEqual(["ADDED prod w"]);
  expect(await told([RESET, IN_SYNC, ...endpoints], { kind })).toEqual(["ADDED default w", "ADDED prod w"]);
});

describe("a block", () => {
  const kind = "IPAMBlock";
  const stored = (node: string) => ({ value: makeBlock("10.65.0.0/26", node), revision: node as Revision });
  const putAt = (node: string): WatchEvent => ({ type: "put-block", stored: stored(node) });
  const goneFromFirst: WatchEvent = { type: "delete-block", ref: { cidr: parsePrefix("10.65.0.0/26"), node: "n1" } };
  const found = [toBlockResource(stored("n1"), "etcdv3")];

  test.each([[[]], [["10.65.0.0/26"]], [["10-65-0-0-26"]]])("that moves to another node is gone and new (named %j)", async (names) => {
    const events = [RESET, putAt("n1"), IN_SYNC, goneFromFirst, putAt("n2")];
    expect(await told(events, { kind, found, names })).toEqual(["DELETED 10-65-0-0-26", "ADDED 10-65-0-0-26"]);
  });

  test("is not gone when its former place is emptied after the new one was told", async () => {
    const events = [RESET, putAt("n1"), IN_SYNC, putAt("n2"), goneFromFirst];
    expect(await told(events, { kind, found })).toEqual(["MODIFIED 10-65-0-0-26"]);
  });

  test("with another name is not told", async () => {
    expect(await told([RESET, putAt("n1"), IN_SYNC, putAt("n2")], { kind, names: ["10.65.0.64/26"] })).toEqual([]);
  });
});

describe("what cannot be read", () => {
  const broken: WatchEvent = {
    type: "unreadable",
    key: "/netplug/v3/nodes/a",
    ref: { kind: "Node", name: "a" },
    reason: "read a: no JSON",
  };
  const found = [node("a", "1"), node("b", "1")];

  test("is said, and is gone until it can be read again", async () => {
    const events = [RESET, put(node("a", "1")), put(node("b", "1")), IN_SYNC, broken, put(node("a", "1"))];
    expect(await told(events, { found })).toEqual(["read a: no JSON", "DELETED a", "ADDED a"]);
  });

  test("is the same in the next snapshot", async () => {
    const events = [RESET, ...found.map(put), IN_SYNC, RESET, broken, put(node("b", "1")), IN_SYNC];
    expect(await told(events, { found })).toEqual(["read a: no JSON", "DELETED a"]);
  });

  test("is not said of an object that was not asked for", async () => {
    expect(await told([RESET, broken, put(node("b", "1")), IN_SYNC, broken], { found: found.slice(1), names: ["b"] })).toEqual([]);
  });

  test("may be a block", async () => {
    const stored = { value: makeBlock("10.65.0.0/26", "n1"), revision: "1" as Revision };
    const ref = { cidr: parsePrefix("10.65.0.0/26"), node: "n1" };
    const events: WatchEvent[] = [RESET, { type: "put-block", stored }, IN_SYNC, { ...broken, ref }];
    const ofBlocks = { kind: "IPAMBlock", found: [toBlockResource(stored, "etcdv3")] } as const;
    expect(await told(events, ofBlocks)).toEqual(["read a: no JSON", "DELETED 10-65-0-0-26"]);
    expect(await told(events, { ...ofBlocks, names: ["10-65-0-0-26"] })).toEqual(["read a: no JSON", "DELETED 10-65-0-0-26"]);
    expect(await told(events, { ...ofBlocks, found: [], names: ["10.65.0.64/26"] })).toEqual([]);
  });
});
