import { describe, expect, test } from "bun:test";
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Runs TypeScript that may use these functions as `streams`, with a pipe for each stream. */
function run(script: string) {
  return runWith(script, "pipe");
}

function runWith<Stderr extends number | "pipe">(script: string, stderr: Stderr) {
  return runOn(script, "pipe", stderr);
}

function runOn<Stdout extends number | "pipe", Stderr extends number | "pipe">(script: string, stdout: Stdout, stderr: Stderr) {
  return Bun.spawn([process.execPath, "-e", `const streams = await import("./standard-streams.ts"); ${script}`], {
    cwd: import.meta.dir,
    stdin: "pipe",
    stdout,
    stderr,
  });
}

test.each<[redirections: string, closed: readonly number[]]>([
  ["", []],
  ["<&-", [0]],
  [">&-", [1]],
  ["<&- >&- 2>&-", [0, 1, 2]],
  [">/dev/null", []],
  ["<>/dev/null 1<>/dev/null 2<>/dev/null", []],
  [">/dev/full 2>&-", [2]],
])("of a process that was started with %j, streams %j were closed", (redirections, closed) => {
  const script = `
    const { wasClosed } = await import("./standard-streams.ts");
    const { writeSync } = await import("node:fs");
    writeSync(9, JSON.stringify([0, 1, 2].filter(wasClosed)));
  `;
  const { stdout } = Bun.spawnSync(["bash", "-c", `exec 9>&1; exec "$0" -e "$1" ${redirections}`, process.execPath, script], {
    cwd: import.meta.dir,
    stdin: "ignore",
  });
  expect(stdout.toString()).toBe(JSON.stringify(closed));
});

describe("readStdin()", () => {
  test("gives everything, also what comes in parts", async () => {
    const child = run("console.log(streams.readStdin())");
    for (const part of ["{", '"a":', "1}"]) {
      void child.stdin.write(part);
      await child.stdin.flush();
      await Bun.sleep(20);
    }
    await child.stdin.end();
    expect(await child.stdout.text()).toBe('{"a":1}\n');
  });

  test("does not wait for ever for the end of what stays open", async () => {
    const child = run("try { streams.readStdin(100) } catch (thrown) { console.log(thrown.message) }");
    void child.stdin.write("{}");
    await child.stdin.flush();
    expect(await child.stdout.text()).toBe("nothing came for 100 ms, and it is still open; want it closed\n");
    await child.stdin.end();
  });
});

/** A pipe that has a reader, which never reads, and no room. */
function fullPipe(): { readonly writer: number; readonly reader: number } & Disposable {
  const path = join(mkdtempSync(join(tmpdir(), "npgt-streams-")), "full");
  Bun.spawnSync(["mkfifo", path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  // The flag belongs to this opening alone: the child blocks where it writes too much.
  const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  expect(() => {
    for (;;) writeSync(filler, Buffer.alloc(4096));
  }).toThrow("EAGAIN");
  const ends = [reader, filler, writer];
  return {
    reader,
    writer,
    [Symbol.dispose]() {
      for (const fd of ends.splice(0)) closeSync(fd);
      rmSync(dirname(path), { recursive: true, force: true });
    },
  };
}

describe("writeStdout()", () => {
  /** Writes to stdout twice, and says on stderr what came of it, after how many whole seconds. */
  const WRITES = `
    for (const remainingMs of REMAINING) {
      const began = performance.now();
      try {
        streams.writeStdout("x".repeat(100_000), remainingMs);
        console.error("written");
      } catch (thrown) {
        console.error(Math.floor((performance.now() - began) / 1000), thrown.message);
      }
    }
  `;

  test.each<[what: string, remaining: string, seconds: number]>([
    ["that has no time left, a second", "undefined, undefined", 1],
    ["that has little time left, for so long", "() => 2_000, () => 2_000", 2],
  ])("waits for a pipe that nobody reads: in a call %s, and then no more", async (_what, remaining, seconds) => {
    using pipe = fullPipe();
    const child = runOn(WRITES.replace("REMAINING", `[${remaining}]`), pipe.writer, "pipe");
    const said = 'write "stdout": EAGAIN (resource temporarily unavailable): nobody reads it';
    expect(await child.stderr.text()).toBe(`${seconds} ${said}\n0 ${said}\n`);
  });

  test("writes all to a pipe that is full, and read in time", async () => {
    using pipe = fullPipe();
    const child = runOn(`console.error("begins"); ${WRITES.replace("REMAINING", "[() => 30_000]")}`, pipe.writer, "pipe");
    const said: string[] = [];
    let reader: Bun.Subprocess<number, "pipe"> | undefined;
    for await (const chunk of child.stderr) {
      said.push(new TextDecoder().decode(chunk));
      await Bun.sleep(100);
      reader ??= Bun.spawn(["cat"], { stdin: pipe.reader, stdout: "pipe" });
    }
    expect(said).toEqual(["begins\n", "written\n"]);
    pipe[Symbol.dispose]();
    expect((await reader?.stdout.text())?.replaceAll("\0", "")).toBe("x".repeat(100_000));
  });
});

describe("writeStderr()", () => {
  test("writes a line that is larger than a pipe to somebody who reads", async () => {
    const child = run('streams.writeStderr("x".repeat(200_000)); streams.writeStderr("end")');
    await Bun.sleep(100);
    expect(await child.stderr.text()).toBe(`${"x".repeat(200_000)}\nend\n`);
  });

  test("is held up once by a pipe that nobody reads, and for a second only", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "npgt-streams-")), "unread");
    Bun.spawnSync(["mkfifo", path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);
    const child = runWith(
      `
        const began = performance.now();
        for (let line = 0; line < 4; line++) streams.writeStderr("x".repeat(100_000));
        console.log(performance.now() - began);
      `,
      writer,
    );
    const tookMs = Number(await child.stdout.text());
    closeSync(reader);
    closeSync(writer);
    rmSync(dirname(path), { recursive: true });
    expect(tookMs).toBeGreaterThan(900);
    expect(tookMs).toBeLessThan(4_000);
  });
});
