/** The suite's own search for leftovers finds them: a leak check that cannot fail would be worth nothing. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestSandbox } from "../../tools/test/sandbox.ts";

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

test("a namespace is a leak when the process that made it has ended", () => {
  using sandbox = new TestSandbox();
  let leaks: readonly string[] = [];
  let ended = "";
  // a run that begins or ends beside us at this moment may clear it before we look
  for (let tries = 0; tries < 5 && leaks.length === 0; tries++) {
    ended = Bun.spawnSync(["sh", "-c", 'ip netns add "npgt-$$-0"; echo $$']).stdout.toString().trim();
    leaks = sandbox.collectLeaks();
  }
  expect(leaks).toContain(`network namespace "npgt-${ended}-0" is left`);
  expect(sandbox.collectLeaks()).not.toContain(`network namespace "npgt-${ended}-0" is left`);
});
