import { expect, test } from "bun:test";
import { makeBlock } from "../../../../test/datastore/blocks.ts";
import { fakeClock } from "../../../../test/support/time/fake-clock.ts";
import type { Resource } from "../../../api/resource.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KubeError } from "../../../kube/kube-error.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { parsePrefix } from "../../../lib/ip/prefix.ts";
import type { Revision, Write } from "../../datastore.ts";
import { OutcomeUnknown } from "../../outcome-unknown.ts";
import type { BlockHints } from "../state/block-hints.ts";
import { LostClaims } from "../state/lost-claims.ts";
import { SeenRevisions } from "../state/seen-revisions.ts";
import { carryOut, type CommitPorts } from "./commit.ts";

const CLAIM: readonly Write[] = [{ op: "create-block", block: makeBlock("10.65.0.0/26", "n1", { 0: "n1" }) }];

const OTHER: Write = { op: "create-block", block: makeBlock("10.65.0.64/26", "n1") };

const revision = "6" as Revision;
const PREVIOUS = { value: makeBlock("10.65.0.0/26", "n1", { 0: "n1", 1: "n1" }), revision };

/** Without hints. */
function portsOf(client: KubeClient): CommitPorts {
  const [seen, lostClaims] = [new SeenRevisions(fakeClock()), new LostClaims(fakeClock())];
  const readCluster = (): Promise<string> => Promise.resolve("u1");
  return { client, seen, lostClaims, hints: undefined, readCluster, onRound: () => undefined };
}

interface Faults {
  readonly add?: NetplugError;
  readonly create?: Error;
  readonly confirm?: NetplugError;
}

/** What became of a claim, and in which order it was done. */
async function claim({ add, create, confirm }: Faults = {}, writes = CLAIM): Promise<readonly [outcome: unknown, done: readonly string[]]> {
  const done: string[] = [];
  const hinted = { cluster: "u1", blocks: [], hintedAt: 0 };
  const hints = {
    node: "n1",
    async add() {
      done.push("name");
      if (add !== undefined) throw add;
      return hinted;
    },
    async confirm(given: unknown) {
      expect(given).toBe(hinted);
      await new Promise(setImmediate);
      done.push("confirm");
      return confirm;
    },
  } as unknown as BlockHints;
  const client = {
    async create() {
      done.push("create");
      if (create !== undefined) throw create;
      return { metadata: { resourceVersion: "7" } };
    },
    async update() {
      done.push("update");
      return { metadata: { resourceVersion: "8" } };
    },
  } as unknown as KubeClient;
  const outcome = await carryOut(writes, { ...portsOf(client), hints }, {}).catch((thrown: unknown) => thrown);
  return [outcome, done];
}

const locked = new NetplugError("tryAgainLater", "lock: others hold it");
const away = new Error("away");

test("a block is named, claimed and confirmed", async () => {
  expect(await claim()).toEqual(["7", ["name", "create", "confirm"]]);
});

test("a block without addresses is named, too, and one of another node in which the node gets its first", async () => {
  expect(await claim({}, [OTHER])).toEqual(["7", ["name", "create", "confirm"]]);
  const [block, value] = [makeBlock("10.65.0.0/26", "n2", { 0: "n1" }), makeBlock("10.65.0.0/26", "n2")];
  expect(await claim({}, [{ op: "update-block", block, previous: { value, revision } }])).toEqual(["8", ["name", "update", "confirm"]]);
});

test("a commit that claims nothing needs no hint, so that a DEL releases also where none can be written", async () => {
  const release: Write = { op: "update-block", block: makeBlock("10.65.0.0/26", "n1", { 0: "n1" }), previous: PREVIOUS };
  expect(await claim({ add: locked }, [release])).toEqual(["8", ["update"]]);
});

test("a block that others have claimed is remembered: lists may not show it yet", async () => {
  const failures = [new KubeError("alreadyExists", "exists"), undefined];
  const create = async (): Promise<object> => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return { metadata: { resourceVersion: "7" } };
  };
  const ports = portsOf({ create } as unknown as KubeClient);
  expect(await carryOut([...CLAIM, OTHER], ports, {})).toBeUndefined();
  expect(ports.lostClaims.findIn(parsePrefix("10.65.0.0/16"))).toEqual([parsePrefix("10.65.0.0/26")]);
});

test("conditions are looked at once, each for itself, and nothing is written when one does not hold", async () => {
  const done: string[] = [];
  const client = {
    async get(_type: unknown, { name }: { readonly name: string }) {
      done.push(name);
      return name === "none" ? undefined : { metadata: { name, resourceVersion: name === "n1" ? "1" : "2" } };
    },
    async create() {
      done.push("create");
      return { metadata: { resourceVersion: "7" } };
    },
  } as unknown as KubeClient;
  const ports = portsOf(client);
  const expectAll = (revisions: Readonly<Record<string, string | undefined>>): Promise<unknown> => {
    const conditions = Object.entries(revisions).map(([name, one]): Write => {
      return { op: "expect", ref: { kind: "Node", name }, revision: one as Revision | undefined };
    });
    return carryOut([...conditions, ...CLAIM], ports, {});
  };
  expect(await expectAll({ n1: "1", n2: "1", none: undefined })).toBeUndefined();
  ports.seen.clear();
  expect(await expectAll({ n1: "1", n2: "2", none: undefined })).toBe("7");
  expect(await expectAll({ n1: "1", n2: "2", none: undefined })).toBe("7");
  expect(done).toEqual(["n1", "n2", "none", "n1", "n2", "none", "create", "create"]);
});

test("a block that cannot be named is not claimed", async () => {
  expect(await claim({ add: locked })).toEqual([locked, ["name"]]);
});

test("a claim of which nobody knows what became is confirmed too, and its failure is told", async () => {
  expect(await claim({ create: away })).toEqual([away, ["name", "create", "confirm"]]);
  expect(await claim({ create: away, confirm: locked })).toEqual([away, ["name", "create", "confirm"]]);
});

test("a commit fails when one of its writes does, although another was done", async () => {
  const results = [Promise.resolve({ metadata: { resourceVersion: "7" } }), Promise.reject(away)];
  const client = { create: () => results.shift() } as unknown as KubeClient;
  expect(await carryOut([...CLAIM, OTHER], portsOf(client), {}).catch((thrown: unknown) => thrown)).toBe(away);
});

test("of several failures that whose outcome nobody knows is told", async () => {
  const failures = [away, new OutcomeUnknown("create: no reply", away)];
  const client = { create: async () => Promise.reject(failures.shift()) } as unknown as KubeClient;
  expect(await carryOut([...CLAIM, OTHER], portsOf(client), {}).catch((thrown: unknown) => thrown)).toBeInstanceOf(OutcomeUnknown);
});

test("a claim that cannot be confirmed fails", async () => {
  expect(await claim({ confirm: locked })).toEqual([locked, ["name", "create", "confirm"]]);
});

test("each request of a commit ends with it, whatever it writes", async () => {
  const { signal } = new AbortController();
  const signals: unknown[] = [];
  const note = async (...given: readonly unknown[]): Promise<object> => {
    signals.push((given.at(-1) as { readonly signal?: AbortSignal }).signal);
    return { metadata: { resourceVersion: "7" } };
  };
  const client = { create: note, update: note, patch: note, delete: note } as unknown as KubeClient;
  const node: Resource = { apiVersion: "netplug.io/v3", kind: "Node", metadata: { name: "n1" }, spec: {} };
  const pool: Resource = { ...node, kind: "IPPool", metadata: { name: "a" }, spec: { cidr: "10.65.0.0/16" } };
  const stored = (cidr: string) => ({ value: makeBlock(cidr, "n1"), revision });
  const writes: readonly Write[] = [
    ...CLAIM,
    { op: "update-block", block: makeBlock("10.65.0.64/26", "n1", { 0: "n1" }), previous: stored("10.65.0.64/26") },
    { op: "delete-block", previous: stored("10.65.0.128/26") },
    { op: "create", resource: pool },
    { op: "update", resource: { ...pool, metadata: { name: "b" } }, revision },
    { op: "update", resource: node, revision },
    { op: "delete", ref: { kind: "IPPool", name: "c" }, revision },
  ];
  await carryOut(writes, portsOf(client), { signal });
  expect(signals).toEqual(writes.map(() => signal));
});
