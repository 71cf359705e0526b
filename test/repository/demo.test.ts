/** The demo, as a stranger without a terminal sees it. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { durationOf } from "../support/time/duration.ts";

const repository = dirname(dirname(import.meta.dir));

function run(args: readonly string[]): { readonly status: number; readonly output: string } {
  const result = Bun.spawnSync([process.execPath, join(repository, "tools", "tasks.ts"), ...args], {
    cwd: repository,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return { status: result.exitCode, output: result.stdout.toString() + result.stderr.toString() };
}

test("does the main job within 10 s after its set-up, prints plain lines, and leaves nothing", async () => {
  const before = readdirSync("/run/netns");
  const demo = (): void => {
    const { status, output } = run(["demo"]);
    expect([status, status === 0 ? "" : output]).toEqual([0, ""]);
    expect(output).not.toContain("\u001b");
  };
  expect(await durationOf(demo)).toBeLessThan(10_000);
  expect(readdirSync("/run/netns").filter((name) => !before.includes(name) && name.startsWith("netplug-demo"))).toEqual([]);
});

test("an unknown task or option is refused by name", () => {
  expect(run(["fly"]).status).toBe(2);
  const { status, output } = run(["demo", "--fast"]);
  expect([status, output]).toEqual([1, expect.stringContaining("--fast")]);
});

test("every task says what it takes, and does nothing when it is asked that", () => {
  for (const task of ["demo", "test", "cluster", "build", "bench", "check", "fmt", "generate"]) {
    const { status, output } = run([task, "--help"]);
    expect([task, status, output]).toEqual([task, 0, expect.stringMatching(new RegExp(`npm (run )?${task}`))]);
  }
});

// npm's shell passes no signal on: without `exec`, whoever ends npm leaves the task behind, a whole cluster perhaps.
test("every script hands its process over to the task", () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  expect(Object.values(scripts).filter((script) => !script.startsWith("exec node tools/run.mjs "))).toEqual([]);
});
