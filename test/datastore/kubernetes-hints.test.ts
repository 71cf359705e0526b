import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BlockHints, type HintPorts } from "../../src/datastore/kubernetes/state/block-hints.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { toPrefixText } from "../../src/lib/ip/prefix.ts";
import { readLines } from "../../src/lib/lines.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { takeLock as takeFileLock } from "../../src/linux/flock.ts";
import type { STAGES } from "./hint-process.ts";

/*
 * Several processes of one node, with real locks and files. What they may not do, whatever happens, is in the first comment of
 * block-hints.ts; block-hints-histories.test.ts plays many more histories, without processes.
 */

const root = mkdtempSync(join(tmpdir(), "npgt-hints-"));
let folder = "";
let count = 0;
beforeEach(() => {
  folder = join(root, `${++count}`);
});
afterAll(() => rmSync(root, { recursive: true }));

const A = "10.65.0.0/26";
const B = "10.65.0.64/26";
const C = "10.65.0.128/26";

type Stage = (typeof STAGES)[number];

interface Process extends AsyncDisposable {
  /** The next thing that it says. */
  says(): Promise<string | undefined>;
  /** Lets it go on from where it stands. */
  goOn(): void;
  kill(): Promise<void>;
}

function start(action: "add" | "replace", cidr: string, ...stages: readonly Stage[]): Process {
  const script = new URL("./hint-process.ts", import.meta.url).pathname;
  const command = [process.execPath, script, join(folder, "blocks.json"), action, cidr, ...stages];
  const child = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const lines = readLines(child.stdout)[Symbol.asyncIterator]();
  return {
    says: async () => (await lines.next()).value ?? undefined,
    goOn() {
      void child.stdin.write("\n");
      void child.stdin.flush();
    },
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

async function run(action: "add" | "replace", cidr: string): Promise<string | undefined> {
  await using one = start(action, cidr);
  return await one.says();
}

/** What every other process believes; undefined: it asks for a list. */
function trusted(): readonly string[] | undefined {
  const takeLock: HintPorts["takeLock"] = (path, waitMs) => takeFileLock(path, { waitMs, clock: systemClock });
  const hints = new BlockHints({ file: join(folder, "blocks.json"), node: "n1" }, { clock: systemClock, files: linuxFiles, takeLock });
  return hints.read().trusted?.blocks.map(toPrefixText).toSorted();
}

test("while one stands still with the lock nobody else claims, and what it writes then lacks nothing", async () => {
  expect(await run("replace", A)).toBe("done");
  await using standing = start("add", B, "loaded");
  expect(await standing.says()).toBe("loaded");
  expect(await run("add", C)).toMatch(/^refused: lock ".*blocks\.json\.lock": others hold it all the time/);
  expect(trusted()).toEqual([A]);
  standing.goOn();
  expect(await standing.says()).toBe("done");
  expect(await run("add", C)).toBe("done");
  expect(trusted()).toEqual([A, C, B].toSorted());
});

test("nor does anybody where there is no hint yet: the one that stands still is about to write the first", async () => {
  await using standing = start("replace", A, "loaded");
  expect(await standing.says()).toBe("loaded");
  expect(await run("add", C)).toStartWith("refused: ");
  standing.goOn();
  expect(await standing.says()).toBe("done");
  expect(trusted()).toEqual([A]);
});

test("one that waits for the lock goes by what it finds when it has it", async () => {
  expect(await run("replace", A)).toBe("done");
  await using standing = start("add", B, "stored");
  expect(await standing.says()).toBe("stored");
  await using waiting = start("add", C, "found");
  expect(await waiting.says()).toBe("found");
  waiting.goOn();
  standing.goOn();
  expect(await standing.says()).toBe("done");
  expect(await waiting.says()).toBe("done");
  expect(trusted()).toEqual([A, B, C].toSorted());
});

test.each<["add" | "replace", Stage, readonly string[]]>([
  ["add", "found", [A]],
  ["add", "locked", [A]],
  ["add", "loaded", [A]],
  ["add", "stored", [A, B]],
  ["replace", "found", [A]],
  ["replace", "locked", [A]],
  ["replace", "loaded", [A]],
  ["replace", "stored", [A, B]],
])("%s that is killed when it has %s leaves the old hint or the new one, and no lock", async (action, stage, left) => {
  expect(await run("replace", A)).toBe("done");
  expect(await run("add", A)).toBe("done");
  await using killed = start(action, B, stage);
  expect(await killed.says()).toBe(stage);
  await killed.kill();
  expect(trusted()).toEqual(left);
  expect(await run("add", C)).toBe("done");
  expect(trusted()).toEqual([...left, C].toSorted());
});

test("the folder is made when it is missing; where there can be none nothing is claimed", async () => {
  expect(await run("add", A)).toBe("done");
  expect(existsSync(join(folder, "blocks.json"))).toBe(true);
  folder = join(root, "a-file", "below");
  writeFileSync(join(root, "a-file"), "");
  expect(await run("add", A)).toStartWith("refused: ");
  expect(await run("replace", A)).toBe("done");
});

test("where the file cannot be written nothing is claimed, and what stands there stays", async () => {
  // A folder has its name.
  mkdirSync(join(folder, "blocks.json", "below"), { recursive: true });
  expect(await run("add", C)).toStartWith("refused: ");
  expect(existsSync(join(folder, "blocks.json", "below"))).toBe(true);
});
