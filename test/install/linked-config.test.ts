/** A symbolic link in the place of the network config, which leads to what an installer in a pod does not see. */

import { expect, test } from "bun:test";
import { lstatSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CONFLIST, InstallNode } from "./support/node.ts";
import { stay } from "./support/stay.ts";

const WARNING = "the network config is a symbolic link to what cannot be seen from here: unless the node sees it, pods get no network";

test("a link that leads nowhere here is left alone, since the node may see more, and warned of once each time", async () => {
  using node = new InstallNode();
  const staying = await stay(node);
  const path = join(node.confDir, CONFLIST);
  const config = node.read(`net.d/${CONFLIST}`);
  for (const target of ["/nowhere/a.conflist", CONFLIST]) {
    rmSync(path);
    symlinkSync(target, path); // to nothing, or to itself
    await staying.look();
    await staying.look();
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    // as the warning says
    rmSync(path);
    await staying.look();
    expect([lstatSync(path).isSymbolicLink(), node.read(`net.d/${CONFLIST}`)]).toEqual([false, config]);
  }
  const { messages } = await staying.stop();
  expect(messages.filter((one) => one === WARNING)).toHaveLength(2);
  expect(messages).not.toContain("cannot keep files in place, trying again");
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
