/** The suite's own search for leftovers finds them: a leak check that cannot fail would be worth nothing. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { TestSandbox } from "../../tools/test/sandbox.ts";
import { mustRunProgramSync } from "../support/programs/programs.ts";

test("a process, an interface and a file that a test left are named once, and removed", () => {
  using sandbox = new TestSandbox();
  expect(sandbox.collectLeaks()).toEqual([]);

  // what it leaves is a shell for a moment, before it is `sleep`
  const left = 'sleep 300 </dev/null >/dev/null 2>&1 & until read -r name < /proc/$!/comm && [ "$name" = sleep ]; do :; done';
  const leaky = sandbox.wrap(["sh", "-c", `ip link add left0 type bridge; ${left}`]);
  // a clean environment: what servers in tests get
  expect(Bun.spawnSync(leaky, { env: { PATH: process.env["PATH"] ?? "" } }).success).toBe(true);
  writeFileSync(join(sandbox.folder, "left.txt"), "x");

  expect(sandbox.collectLeaks()).toEqual([
    expect.stringMatching(/^process \d+ still runs: sleep 300$/),
    'interface "left0" is left in the namespace that the tests run in',
    'temp file or folder "left.txt" is left',
  ]);
  expect(sandbox.collectLeaks()).toEqual([]);
});

test("a namespace of the run is a leak when the process that made it has ended", () => {
  using sandbox = new TestSandbox();
  let leaks: readonly string[] = [];
  let left = "";
  // a run that begins or ends beside us at this moment may clear it before we look
  for (let tries = 0; tries < 5 && leaks.length === 0; tries++) {
    left = leaveNamespace(sandbox.environment());
    leaks = sandbox.collectLeaks();
  }
  expect(leaks).toContain(`network namespace "${left}" is left`);
  expect(sandbox.collectLeaks()).not.toContain(`network namespace "${left}" is left`);
});

test("a namespace of another run is none of its leaks", () => {
  using sandbox = new TestSandbox();
  using other = new TestSandbox("other");
  const left = leaveNamespace(other.environment());
  expect(sandbox.collectLeaks()).not.toContain(`network namespace "${left}" is left`);
  Bun.spawnSync(["ip", "netns", "del", left]);
});

/** A test's process makes a namespace, and ends. @returns its name */
function leaveNamespace(env: Readonly<Record<string, string | undefined>>): string {
  const script = `
    import { NETNS_PREFIX } from "${join(repositoryRoot, "test/support/run-mark.ts")}";
    Bun.spawnSync(["ip", "netns", "add", NETNS_PREFIX + "0"]);
    console.log(NETNS_PREFIX + "0");
  `;
  return mustRunProgramSync([process.execPath, "-e", script], { env }).trim();
}
