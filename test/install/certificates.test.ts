/** The copies of etcd's certificate and key, which only fit each other: both are old, or both are new. */

import { beforeEach, afterEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { DurableFiles } from "../../src/install-cni/files/durable-files.ts";
import { durableFiles } from "../../src/linux/durable-files.ts";
import { KernelError } from "../../src/linux/kernel-error.ts";
import { errorOf, filesWith, InstallNode } from "./support/node.ts";

const NAMES = ["etcd-ca", "etcd-key", "etcd-cert"];

let node: InstallNode;
beforeEach(async () => {
  node = new InstallNode();
  renew("1");
  expect((await node.run()).status).toBe(0);
});
afterEach(() => node[Symbol.dispose]());

function renew(version: string): void {
  for (const name of NAMES) node.write(`assets/${name}`, version);
}

const copies = (): readonly string[] => NAMES.map((name) => node.read(`net.d/netplug-tls/${name}`));

test("they are made before any of them gets its name, and then nothing comes between", async () => {
  const steps: string[] = [];
  const disk = new Proxy<DurableFiles>(durableFiles, {
    get:
      (_, key: keyof DurableFiles) =>
      (...args: unknown[]): unknown => {
        steps.push([key, ...args].join(" "));
        return (durableFiles[key] as (...args: unknown[]) => unknown)(...args);
      },
  });
  renew("2");
  expect((await node.run({ host: { disk } })).status).toBe(0);
  const folder = join(node.confDir, "netplug-tls");
  const renames = NAMES.map((name) => `rename ${folder}/.${name}.netplug-tmp ${folder}/${name}`);
  const at = steps.indexOf(renames[0] ?? "");
  expect(steps.slice(at, at + 4)).toEqual([...renames, `flushFolder ${folder}`]);
  expect(copies()).toEqual(["2", "2", "2"]);
});

test.each(NAMES)("where %s does not fit on the disk any more, all stay as they were", async (name) => {
  const create: DurableFiles["create"] = (path, content, permissions) => {
    if (path.includes(name)) throw new KernelError({ operation: "write", object: path, errno: 28, kind: "ioFailure" });
    durableFiles.create(path, content, permissions);
  };
  renew("2");
  const message = errorOf(await node.run({ host: { disk: filesWith({ create }) } }));
  const folder = join(node.confDir, "netplug-tls");
  expect(message).toBe(`install "${folder}/${name}": write "${folder}/.${name}.netplug-tmp": ENOSPC (no space left on device)`);
  expect([copies(), durableFiles.list(folder)?.length]).toEqual([["1", "1", "1"], 3]);
});

test("those that are gone stay until no network config names them any more", async () => {
  for (const name of NAMES) rmSync(join(node.assetsDir, name));
  const rename: DurableFiles["rename"] = (from, to) => {
    if (to.endsWith(".conflist")) throw new KernelError({ operation: "rename onto", object: to, errno: 28, kind: "ioFailure" });
    durableFiles.rename(from, to);
  };
  expect(errorOf(await node.run({ host: { disk: filesWith({ rename }) } }))).toContain("ENOSPC");
  expect(copies()).toEqual(["1", "1", "1"]);
  const { log } = await node.run();
  expect(log.find(({ msg }) => msg === "etcd certificates removed")?.fields).toEqual({ names: ["etcd-ca", "etcd-key", "etcd-cert"] });
  expect(Object.keys(node.content()).filter((path) => path.includes("tls"))).toEqual([]);
});

test("only those that have changed are written", async () => {
  node.write("assets/etcd-ca", "2");
  const before = node.content();
  const run = await node.run();
  expect(copies()).toEqual(["2", "1", "1"]);
  expect(node.content()["net.d/netplug-tls/etcd-key"]).toEqual(before["net.d/netplug-tls/etcd-key"]);
  expect(run.log.find(({ msg }) => msg === "etcd certificates copied")?.fields).toEqual({ names: ["etcd-ca"] });
});
