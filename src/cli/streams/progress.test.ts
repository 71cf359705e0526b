import { expect, test } from "bun:test";
import type { CliIo } from "../io.ts";
import { withProgress } from "./progress.ts";

/** A command on one terminal, whose clock stands until it is moved. */
function onTerminal({ isTerminal = true, isStdout = true } = {}) {
  let nowMs = 0;
  let screen = "";
  const output = { isTerminal, write: (text: string) => void (screen += text) };
  const clock = { now: () => nowMs, monotonic: () => nowMs, sleep: async () => {} };
  // nothing else of it is used
  const io = withProgress({ stdout: { ...output, isTerminal: isStdout }, stderr: output, clock } as unknown as CliIo);
  const take = (): string => {
    const written = screen;
    screen = "";
    return written;
  };
  return { io, take, pass: (ms: number) => void (nowMs += ms) };
}

/** The line before is wiped; this one does not wrap, and ends in a blank where the terminal cuts it. */
const shown = (line: string): string => `\r\x1b[K\x1b[?7l${line} \x1b[?7h`;

test("nothing is shown of what takes less than two seconds", () => {
  const { io, take, pass } = onTerminal();
  pass(1_999);
  io.progress?.tell("read", "read 1 block");
  expect(take()).toBe("");
  pass(1);
  io.progress?.tell("read", "read 2 blocks");
  expect(take()).toBe(shown("read 2 blocks"));
});

test("nothing is shown where stderr is no terminal", () => {
  const { io } = onTerminal({ isTerminal: false });
  expect(io.progress).toBeUndefined();
});

test("the line is written anew ten times a second at most, and says all parts", () => {
  const { io, take, pass } = onTerminal();
  pass(2_000);
  io.progress?.tell("read", "read 1 block");
  pass(99);
  io.progress?.tell("done", "released 1 of 5");
  expect(take()).toBe(shown("read 1 block"));
  pass(1);
  io.progress?.tell("done", "released 2 of 5");
  expect(take()).toBe(shown("read 1 block; released 2 of 5"));
});

test("the line is wiped before anything else is written, once", () => {
  const { io, take, pass } = onTerminal();
  pass(2_000);
  for (const output of [io.stdout, io.stderr]) {
    pass(100);
    io.progress?.tell("read", "read 1 block");
    take();
    output.write("a\n");
    output.write("b\n");
    expect(take()).toBe("\r\x1b[Ka\nb\n");
  }
});

test("what goes elsewhere leaves the line, which then is wiped at the end", () => {
  const { io, take, pass } = onTerminal({ isStdout: false });
  pass(2_000);
  io.progress?.tell("read", "read 1 block");
  io.stdout.write("a\n");
  expect(take()).toBe(`${shown("read 1 block")}a\n`);
  io.progress?.wipe();
  io.progress?.wipe();
  expect(take()).toBe("\r\x1b[K");
});
