/** Faults of the node's own disk, and of the files that calls leave there for each other: nothing of that is worth a pod's network. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type CniReply, pluginPath } from "../support/programs/cni.ts";
import type { CniVerb, Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { NodeMounts } from "../support/node/node-mounts.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

/** A small disk, on which the run directory is. */
let disk: string;
const node = share(
  () => TestNode.start(["10.65.0.0/24"]),
  (node) => {
    disk = join(node.folder, "disk");
    mkdirSync(disk);
  },
);

let mounts: NodeMounts;
let pod: TestNetns;
let containerID: string;
beforeEach(async () => {
  mounts = await NodeMounts.start();
  mounts.mount(disk, "size=256k,nr_inodes=64");
  mkdirSync(runFolder());
  pod = new TestNetns();
  containerID = node.newContainerID();
});
afterEach(async () => {
  pod[Symbol.dispose]();
  await mounts[Symbol.asyncDispose]();
});

/** Path of something in the run directory, as the test sees it. */
function runFolder(name = ""): string {
  return mounts.path(join(disk, "run", name));
}

function config(overrides: Json = {}): Json {
  return node.config({ ipam_lock_file: join(disk, "run", "ipam.lock"), ...overrides });
}

/** Calls ours where the disk is. */
async function call(verb: CniVerb, plugin: string, overrides: Json = {}): Promise<CniReply> {
  const isAboutOne = verb !== "GC" && verb !== "STATUS";
  const attachment = isAboutOne ? { containerID, netns: pod.path } : {};
  return await node.call(verb, { ...attachment, plugin: mounts.plugin(node.folder, plugin), config: config(overrides) });
}

/** Exit status, and the message of a call that failed. */
type Outcome = readonly [status: number, msg: string | undefined];

async function outcomeOf(reply: Promise<CniReply>): Promise<Outcome> {
  const { status, json } = await reply;
  return [status, status === 0 ? undefined : json?.msg];
}

const DONE: Outcome = [0, undefined];

/** Plays all verbs on one attachment, the fault coming before its ADD or after it, and looks at what each says and leaves. */
async function playAll(plugin: string, fault: () => void, when: "before" | "after"): Promise<void> {
  if (when === "before") fault();
  const added = await call("ADD", plugin);
  expect([added.status, added.json?.msg]).toEqual([0, undefined]);
  if (when === "after") fault();
  const valid = { "cni.dev/valid-attachments": [{ containerID, ifname: "eth0" }] };
  const outcomes = {
    check: await outcomeOf(call("CHECK", plugin, { prevResult: added.json })),
    again: await outcomeOf(call("ADD", plugin)),
    gc: await outcomeOf(call("GC", plugin, valid)),
    status: await outcomeOf(call("STATUS", plugin)),
    inUse: await node.addressesInUse(),
    del: await outcomeOf(call("DEL", plugin)),
    left: await node.addressesInUse(),
  };
  expect(outcomes).toEqual({ check: DONE, again: DONE, gc: DONE, status: DONE, inUse: 1, del: DONE, left: 0 });
  expect([pod.link("eth0"), nodePlace.link(node.hostSide(containerID))]).toEqual([undefined, undefined]);
}

const PLUGINS = ["netplug", "netplug-ipam"] as const;
const WHEN = ["before", "after"] as const;
const CASES = PLUGINS.flatMap((plugin) => WHEN.map((when) => [plugin, when] as const));

describe.each(CASES)("%s works all the same, %s its ADD", (plugin, when) => {
  test.each<[what: string, fault: () => void]>([
    ["is full", () => mounts.fill(disk, "space")],
    ["has no inodes left", () => mounts.fill(disk, "inodes")],
    ["is read-only", () => mounts.remount(disk, "ro")],
    ["has no such folder, and is read-only", () => (rmSync(runFolder(), { recursive: true }), mounts.remount(disk, "ro"))],
    ["has a file in the folder's place", () => damage(join(disk, "run"), "empty")],
    ["has a link to nothing in the folder's place", () => damage(join(disk, "run"), "dangling")],
  ])("where the disk of the run directory %s", async (_what, fault) => {
    await playAll(plugin, fault, when);
  });

  test.each(["a folder", "dangling", "a loop", "empty", "garbage", "a pipe"] as const)(
    "where what calls leave for each other is %s",
    async (form) => {
      const own = `test-net@${containerID}@eth0`;
      const files = [`attached/${own}`, `dns/${own}`, "attached/test-net@another@eth0", "unreleased/test-net@another@eth0"];
      const shared = ["next-add.test-net.json", "etcd-token.json", "ipam.lock", "ipam.lock.work"];
      const folders = form === "a folder" ? [] : ["ipam.lock.line", "ipam.lock.requests"];
      // An ADD must know that nobody will release its addresses: see below.
      const pending = form === "a folder" || form === "a loop" ? [] : [`unreleased/${own}`, "unreleased.lock"];
      const fault = (): void => [...files, ...shared, ...folders, ...pending].forEach((name) => damage(join(disk, "run", name), form));
      await playAll(plugin, fault, when);
    },
  );
});

type Form = "a folder" | "dangling" | "a loop" | "empty" | "garbage" | "a pipe";

/** Puts something else in the place of a file or folder. */
function damage(path: string, form: Form): void {
  const place = mounts.path(path);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(dirname(place), { recursive: true });
  if (form === "a folder") mkdirSync(place);
  else if (form === "dangling") symlinkSync("/nowhere/at/all", place);
  else if (form === "a loop") symlinkSync(path, place);
  else if (form === "a pipe") mounts.run(`mkfifo ${path}`);
  else writeFileSync(place, form === "empty" ? "" : Buffer.from([0x00, 0xff, 0x0a, 0x7b, 0x0a, 0x22, 0x0a, 0x39, 0x0a, 0xc3]));
}

test.each(["a folder", "a loop"] as const)("a hold that cannot be read, being %s, lets its DEL do everything", async (form) => {
  expect((await call("ADD", "netplug")).status).toBe(0);
  damage(join(disk, "run", `attached/test-net@${containerID}@eth0`), form);
  expect(await outcomeOf(call("DEL", "netplug"))).toEqual(DONE);
  expect([await node.addressesInUse(), pod.link("eth0")]).toEqual([0, undefined]);
});

describe("a pending release", () => {
  const folder = "unreleased";
  const own = (): string => `${folder}/test-net@${containerID}@eth0`;

  test.each(["a folder", "a loop"] as const)("of the attachment that cannot be cancelled, being %s, fails its ADD", async (form) => {
    damage(join(disk, "run", own()), form);
    const refused = await call("ADD", "netplug");
    expect([refused.status, refused.json?.code, refused.json?.msg]).toEqual([1, 5, expect.stringContaining(own())]);
    expect([await node.addressesInUse(), pod.link("eth0")]).toEqual([0, undefined]);
    expect(await outcomeOf(call("DEL", "netplug"))).toEqual(DONE);
  });

  test("that cannot be read does not keep others from being carried out", async () => {
    expect((await call("ADD", "netplug")).status).toBe(0);
    const away = await call("DEL", "netplug", { etcd_endpoints: "http://127.0.0.1:1" });
    expect([away.json?.code, existsSync(runFolder(own())), await node.addressesInUse()]).toEqual([11, true, 1]);
    for (const name of ["0", "zz"]) damage(join(disk, "run", folder, `test-net@${name}@eth0`), "a folder");
    containerID = node.newContainerID();
    expect(await outcomeOf(call("DEL", "netplug"))).toEqual(DONE);
    expect(await node.addressesInUse()).toBe(0);
  });

  test("whose file was emptied releases nothing that is in use", async () => {
    expect((await call("ADD", "netplug-ipam")).status).toBe(0);
    const using = containerID;
    rmSync(runFolder("attached"), { recursive: true });
    damage(join(disk, "run", own()), "empty");
    containerID = node.newContainerID();
    expect(await outcomeOf(call("DEL", "netplug-ipam"))).toEqual(DONE);
    expect(await node.addressesInUse()).toBe(1);
    containerID = using;
    expect(await outcomeOf(call("DEL", "netplug-ipam"))).toEqual(DONE);
    expect(await node.addressesInUse()).toBe(0);
  });
});

test("GC ends all that it can of what the node has noted, whatever it cannot remove", async () => {
  const stale = ["attached/test-net@m@eth0", "dns/test-net@m@eth0"];
  for (const name of ["attached/test-net@0@eth0", "attached/test-net@zz@eth0"]) damage(join(disk, "run", name), "a folder");
  for (const name of stale) damage(join(disk, "run", name), "garbage");
  expect(await outcomeOf(call("GC", "netplug", { "cni.dev/valid-attachments": [] }))).toEqual(DONE);
  expect(stale.filter((name) => existsSync(runFolder(name)))).toEqual([]);
  expect(readdirSync(runFolder("attached")).sort()).toEqual(["test-net@0@eth0", "test-net@zz@eth0"]);
});

describe.each(PLUGINS)("%s that may open only few files", (name) => {
  test.each(["CHECK", "DEL", "GC", "STATUS"] as const)("says so in the answer to %s, or does its work", async (verb) => {
    const said = new Set<string>();
    for (let limit = 5; limit <= 12; limit++) {
      containerID = node.newContainerID();
      const added = await call("ADD", name);
      const script = join(node.folder, "with-few-files");
      writeFileSync(script, `#!/bin/sh\nulimit -n ${limit}\nexec ${pluginPath(name)}\n`, { mode: 0o755 });
      const attachment = verb === "GC" || verb === "STATUS" ? {} : { containerID, netns: pod.path };
      const overrides = { prevResult: added.json, "cni.dev/valid-attachments": [] };
      const run = { ipam_lock_file: join(node.folder, "ipam.lock") };
      const reply = await node.call(verb, { ...attachment, plugin: script, config: config({ ...overrides, ...run }) });
      if (reply.status !== 0) said.add(/too many open files/.exec(JSON.stringify(reply.json))?.[0] ?? `${reply.stdout}${reply.stderr}`);
      if (reply.status === 0 && (verb === "DEL" || verb === "GC")) expect(await node.addressesInUse()).toBe(0);
      expect(await outcomeOf(call("DEL", name))).toEqual(DONE);
    }
    expect([...said]).toEqual(["too many open files"]);
    expect([await node.addressesInUse(), pod.link("eth0")]).toEqual([0, undefined]);
  });
});
