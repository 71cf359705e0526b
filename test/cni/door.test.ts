/** The executable by itself: the name that it is called by, its options, and what it says to a person who calls a plugin. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { linkSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { CNI_VERSIONS, distFolder, spawnPlugin } from "../support/programs/cni.ts";

const CNI = { CNI_COMMAND: "ADD", CNI_CONTAINERID: "c", CNI_NETNS: "/n", CNI_IFNAME: "eth0" };
let folder: string;
beforeAll(() => {
  // A hard link needs the same file system.
  folder = mkdtempSync(join(distFolder, "door-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = async (name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  await spawnPlugin(name.startsWith("/") ? name : join(distFolder, name), env, "", args);

describe.each(["netplug", "netplug-ipam"])("%s", (name) => {
  test.each<[what: string, args: readonly string[], env: Readonly<Record<string, string>>]>([
    ["nothing", [], {}],
    ["an empty CNI_COMMAND", [], { CNI_COMMAND: "" }],
    ["--help", ["--help"], {}],
    ["-h", ["-h"], {}],
    ["--help inside a runtime's environment", ["--help"], CNI],
  ])("with %s says on stderr what it is and which CNI versions it speaks", async (_what, args, env) => {
    const { status, stdout, stderr } = await run(name, args, env);
    expect([status, stdout]).toEqual([0, ""]);
    for (const word of ["netplug-ipam", "netplugctl", "kubectl-netplug", CNI_VERSIONS.join(", ")]) expect(stderr).toContain(word);
  });

  test("--version prints one line, whatever the environment", async () => {
    const { version } = (await Bun.file(join(import.meta.dir, "../../package.json")).json()) as { readonly version: string };
    for (const env of [{}, CNI]) expect(await run(name, ["--version"], env)).toMatchObject({ status: 0, stdout: `netplug v${version}\n` });
  });

  test.each([
    ["closed", ">&-", "EBADF"],
    ["full", ">/dev/full", "ENOSPC"],
  ])("--version on a stdout that is %s fails, and says so on stderr", (_what, redirection, errno) => {
    const { exitCode, stderr } = Bun.spawnSync(["bash", "-c", `"$0" --version ${redirection}`, join(distFolder, name)], { stderr: "pipe" });
    expect([exitCode, stderr.toString()]).toEqual([1, expect.stringContaining(`${name}: write answer: write "stdout": ${errno}`)]);
  });

  test("refuses a role that it does not have, by its own name", async () => {
    const { status, stdout, stderr } = await run(name, ["fly"]);
    expect([status, stdout, stderr]).toEqual([2, "", expect.stringMatching(new RegExp(`^${name}: got "fly", want `))]);
  });
});

test.each([
  ["netplugctl", "netplugctl"],
  ["kubectl-netplug", "kubectl netplug"],
])("%s says in help and errors what a person types: %s", async (name, typed) => {
  const help = await run(name, ["--help"]);
  expect([help.status, help.stdout]).toEqual([0, expect.stringContaining(`  ${typed} init`)]);
  const wrong = await run(name, ["fly"]);
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringMatching(new RegExp(`^${typed}: `))]);
});

test.each<[string, (from: string, to: string) => void]>([
  ["a symbolic link", symlinkSync],
  ["a hard link", linkSync],
])("the name of %s chooses the role", async (_what, link) => {
  for (const name of ["netplug-ipam", "netplugctl"]) {
    const path = join(folder, name);
    link(join(distFolder, "netplug"), path);
    const { stderr } = await run(path, ["fly"]);
    expect(stderr).toStartWith(`${name}: `);
    rmSync(path);
  }
});
