/** In the place of the network config: what is no file, or a symbolic link, which may lead to one that an installer in a pod does not see. */

import { expect, test } from "bun:test";
import { lstatSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CONFLIST, InstallNode } from "./support/node.ts";
import { stay } from "./support/stay.ts";

/** Nothing, the link itself, a folder, a device. */
const targetsIn = (node: InstallNode): readonly string[] => ["/nowhere/a.conflist", CONFLIST, node.confDir, "/dev/null"];

const WARNING = "the network config is no file here, nor a link to one: unless it is on the node, pods get no network";

test("a link that leads to no file here is left alone, since the node may see more, and warned of once each time", async () => {
  using node = new InstallNode();
  const staying = await stay(node);
  const path = join(node.confDir, CONFLIST);
  const config = node.read(`net.d/${CONFLIST}`);
  const targets = targetsIn(node);
  for (const target of targets) {
    rmSync(path);
    symlinkSync(target, path);
    await staying.look();
    await staying.look();
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    // as the warning says
    rmSync(path);
    await staying.look();
    expect([lstatSync(path).isSymbolicLink(), node.read(`net.d/${CONFLIST}`)]).toEqual([false, config]);
  }
  const { messages } = await staying.stop();
  expect(messages.filter((one) => one === WARNING)).toHaveLength(targets.length);
  expect(messages).not.toContain("cannot keep files in place, trying again");
});

test("what is neither a file nor a link stays, and is told of once, and not called a link", async () => {
  using node = new InstallNode();
  const staying = await stay(node);
  const path = join(node.confDir, CONFLIST);
  rmSync(path);
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  await staying.look();
  await staying.look();
  const { log, messages } = await staying.stop();
  expect([lstatSync(path).isFIFO(), messages]).toEqual([true, expect.not.arrayContaining([WARNING])]);
  expect(log.slice(-2).map(({ msg, fields }) => [msg, fields["reason"]])).toEqual([
    ["cannot keep files in place, trying again", `install "${path}": a named pipe is there, want a file or nothing`],
    ["stopped", undefined],
  ]);
});

test("a link that leads to no file here is not ours to remove at the end", async () => {
  using node = new InstallNode();
  const path = join(node.confDir, CONFLIST);
  for (const target of targetsIn(node)) {
    const staying = await stay(node, { env: { REMOVE_ON_STOP: "true" } });
    rmSync(path);
    symlinkSync(target, path);
    const { status, messages } = await staying.stop();
    expect([status, messages.at(-1)]).toEqual([0, "stopped"]);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  }
});

test("at the end a folder, a link or another text is not ours to remove, and is said to stay", async () => {
  using node = new InstallNode();
  const path = join(node.confDir, CONFLIST);
  const places: readonly (readonly [found: string, put: () => void])[] = [
    ["a folder", () => mkdirSync(path)],
    ["a symbolic link", () => symlinkSync("/nowhere/a.conflist", path)],
    ["a named pipe", () => expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0)],
    ["a file", () => node.write(`net.d/${CONFLIST}`, "{}")],
  ];
  for (const [found, put] of places) {
    const staying = await stay(node, { env: { REMOVE_ON_STOP: "true" } });
    rmSync(path);
    put();
    const { ino } = lstatSync(path);
    const { status, log } = await staying.stop();
    expect([status, lstatSync(path).ino]).toEqual([0, ino]);
    const last = log.slice(-2).map(({ level, msg, fields }) => [level, msg, fields["found"]]);
    expect(last).toEqual([
      ["INFO", "network config left: this installer did not write it", found],
      ["INFO", "stopped", undefined],
    ]);
    rmSync(path, { recursive: true });
  }
});

test("at the end nothing is said of a network config that is not there", async () => {
  using node = new InstallNode();
  const staying = await stay(node, { env: { REMOVE_ON_STOP: "true" } });
  rmSync(join(node.confDir, CONFLIST));
  const { status, messages } = await staying.stop();
  expect([status, messages.slice(-2)]).toEqual([0, ["the plugin is installed", "stopped"]]);
});

test("a link to a config that is seen is somebody else's, and nothing is said of it", async () => {
  using node = new InstallNode();
  const staying = await stay(node);
  rmSync(join(node.confDir, CONFLIST));
  node.write("other.conflist", "{}");
  symlinkSync("../other.conflist", join(node.confDir, CONFLIST));
  await staying.look();
  expect(node.read(`net.d/${CONFLIST}`)).toBe("{}");
  expect((await staying.stop()).messages).not.toContain(WARNING);
});

test("an installation puts the config in the place of a link", async () => {
  using node = new InstallNode();
  node.write("net.d/other", "");
  symlinkSync("/nowhere/a.conflist", join(node.confDir, CONFLIST));
  expect((await node.run({})).status).toBe(0);
  expect(lstatSync(join(node.confDir, CONFLIST)).isFile()).toBe(true);
});
