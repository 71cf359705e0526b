/** A clean stop with REMOVE_ON_STOP where something is in its way: what can be done is done, and the end is a clean one. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CONFLIST, InstallNode } from "./support/node.ts";
import { stay } from "./support/stay.ts";

let node: InstallNode;
beforeEach(() => void (node = new InstallNode()));
afterEach(() => node[Symbol.dispose]());

test("a state file that cannot be written any more is warned of, once the network config is removed", async () => {
  const path = join(node.folder, "state");
  const staying = await stay(node, { env: { REMOVE_ON_STOP: "true", STATE_FILE: path } });
  rmSync(path);
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  const { status, log } = await staying.stop();
  expect([status, existsSync(join(node.confDir, CONFLIST))]).toEqual([0, false]);
  expect(log.slice(-3).map(({ level, msg }) => [level, msg])).toEqual([
    ["INFO", "network config removed"],
    ["WARNING", "cannot note that the installer has ended as it was asked to: it will count as dead"],
    ["INFO", "stopped"],
  ]);
});

test("a folder of network configs that somebody has removed has none to be removed", async () => {
  const staying = await stay(node, { env: { REMOVE_ON_STOP: "true" } });
  rmSync(node.confDir, { recursive: true });
  const { status, messages } = await staying.stop();
  expect([status, messages.at(-1), existsSync(node.confDir)]).toEqual([0, "stopped", false]);
});
