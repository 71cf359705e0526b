/** What a killed run of the suite leaves is cleared, and what belongs to a live one is not. */

import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { clearLeftovers } from "../../tools/test/leftovers.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { TestSandbox } from "../../tools/test/sandbox.ts";

/** Makes a sandbox, and in it what tests make; tells where, and waits to be killed. */
const RUN = `
import { mkdirSync } from "node:fs";
import { TestSandbox } from "${join(repositoryRoot, "tools/test/sandbox.ts")}";
const sandbox = new TestSandbox();
const mount = sandbox.folder + "/mounted here";
mkdirSync(mount);
Bun.spawnSync(["mount", "-t", "tmpfs", "tmpfs", mount]);
Bun.spawnSync(["ip", "netns", "add", "npgt-" + process.pid + "-0"]);
const quiet = { stdin: "ignore", stdout: "ignore", stderr: "ignore" };
const marked = Bun.spawn(["sleep", "301"], { ...quiet, env: sandbox.environment() });
const inside = Bun.spawn(sandbox.wrap(["sleep", "302"]), { ...quiet, env: {} });
const nested = Bun.spawn(["ip", "netns", "exec", "npgt-" + process.pid + "-0", "sleep", "303"], { ...quiet, env: { PATH: process.env.PATH } });
console.log(JSON.stringify({ folder: sandbox.folder, mount, pids: [marked.pid, inside.pid, nested.pid] }));
await Bun.sleep(300_000);
`;

interface Run {
  readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">;
  readonly folder: string;
  readonly mount: string;
  readonly pids: readonly number[];
}

const children: Run["child"][] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  await clearLeftovers();
});

async function start(): Promise<Run> {
  const child = Bun.spawn([process.execPath, "-e", RUN], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  children.push(child);
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return { child, ...(JSON.parse(new TextDecoder().decode(value)) as Omit<Run, "child">) };
}

/** What there is of a run, by the kernel's own tables. */
function remains({ child, folder, mount, pids }: Run): readonly string[] {
  const namespaces = Bun.spawnSync(["ip", "netns", "list"]).stdout.toString().split("\n");
  const mounts = readFileSync("/proc/self/mounts", "utf8").replaceAll("\\040", " ");
  return [
    ...namespaces.filter((line) => line.startsWith(`npgt-${child.pid}-`)).map((line) => line.replace(/ .*/, "")),
    ...pids.filter((pid) => /^State:\s+[^Z]/m.test(statusOf(pid))).map((pid) => `process ${pids.indexOf(pid)}`),
    ...(mounts.includes(` ${mount} `) ? ["mount"] : []),
    ...(existsSync(folder) ? ["folder"] : []),
  ];
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

test("processes, mounts, folders and namespaces of a run that was killed go, those of one that lives stay", async () => {
  const [killed, living] = [await start(), await start()];
  const all = (run: Run): string[] =>
    [`npgt-${run.child.pid}-0`, `npgt-${run.child.pid}-suite`, "process 0", "process 1", "process 2", "mount", "folder"].toSorted();
  expect(remains(killed).toSorted()).toEqual(all(killed));
  killed.child.kill("SIGKILL");
  await killed.child.exited;
  // a run that begins or ends beside us at this moment does the same work
  for (const end = performance.now() + 60_000; remains(killed).length > 0 && performance.now() < end; await Bun.sleep(20))
    await clearLeftovers();
  expect(remains(killed)).toEqual([]);
  expect(remains(living).toSorted()).toEqual(all(living));
});

test("a folder of somebody else is not taken for one of ours", async () => {
  using sandbox = new TestSandbox();
  const foreign = join(sandbox.folder, "..", "npgt-notours");
  mkdirSync(foreign);
  await clearLeftovers();
  expect(existsSync(foreign)).toBe(true);
  rmSync(foreign, { recursive: true });
});
