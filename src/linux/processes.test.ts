import { describe, expect, test } from "bun:test";
import { linuxFiles } from "./files.ts";
import { linuxProcesses } from "./processes.ts";

const sh = (script: string, more: { stdin?: string; env?: Record<string, string>; timeoutMs?: number } = {}) =>
  linuxProcesses.run({
    command: "/bin/sh",
    args: ["-c", script],
    env: more.env ?? {},
    timeoutMs: more.timeoutMs ?? 10_000,
    ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
  });

/** Awaits `until` without a fixed pause; fails with the test's own timeout. */
async function eventually(until: () => boolean): Promise<void> {
  while (!until()) await Bun.sleep(5);
}

describe("run()", () => {
  test("hands over stdin, and nothing of the environment that was not given", async () => {
    const result = await sh('read line; echo "$line $A"; env | grep -v "^PWD=\\|^SHLVL=\\|^_=\\|^OLDPWD=" >&2', {
      stdin: "hello\n",
      env: { A: "b" },
    });
    expect(result).toEqual({ status: 0, stdout: "hello b\n", stderr: "A=b\n" });
  });

  test("tells the exit status, or 128 and the signal's number", async () => {
    expect((await sh("exit 7")).status).toBe(7);
    expect((await sh("kill -TERM $$")).status).toBe(128 + 15);
  });

  test("tells the exit status where whoever started us ignores SIGCHLD", () => {
    const script = `
      const { linuxProcesses } = await import("./processes.ts");
      const { status } = await linuxProcesses.run({ command: "/bin/sh", args: ["-c", "exit 7"], env: {}, timeoutMs: 10_000 });
      console.log(status);
    `;
    const command = ["env", "--ignore-signal=CHLD", process.execPath, "-e", script];
    expect(Bun.spawnSync(command, { cwd: import.meta.dir }).stdout.toString()).toBe("7\n");
  });

  test("passes on large input and output", async () => {
    const text = "0123456789abcdef".repeat(128 * 1024);
    const result = await sh("cat", { stdin: text });
    expect(result.stdout.length).toBe(text.length);
    expect(result.stdout).toBe(text);
  });

  test("does not mind a program that reads nothing", async () => {
    expect((await sh("exec <&-; echo done", { stdin: "x".repeat(1024 * 1024) })).stdout).toBe("done\n");
  });

  test("ends a program that takes too long, with all that it started", async () => {
    const began = performance.now();
    const running = sh('sleep 60 & echo $! > "$PIDS"; sleep 60', {
      timeoutMs: 200,
      env: { PIDS: `/tmp/npgt-${process.pid}-pids`, PATH: process.env["PATH"] ?? "" },
    });
    await expect(running).rejects.toMatchObject({ kind: "tryAgainLater", message: 'run "/bin/sh": not done within 200 ms, ended it' });
    await running.catch(() => {});
    expect(performance.now() - began).toBeLessThan(5_000);
    const grandchild = linuxFiles.readText(`/tmp/npgt-${process.pid}-pids`)?.trim();
    linuxFiles.remove(`/tmp/npgt-${process.pid}-pids`);
    expect(grandchild).toMatch(/^\d+$/);
    await eventually(() => isGone(grandchild ?? ""));
  });

  test("does not wait for what a program left running with its output open", async () => {
    const began = performance.now();
    const result = await sh("sleep 30 & echo $!", { env: { PATH: process.env["PATH"] ?? "" } });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(result.stdout).toMatch(/^\d+\n$/);
    const left = result.stdout.trim();
    expect(isGone(left)).toBe(false);
    process.kill(Number(left), "SIGKILL");
    await eventually(() => isGone(left));
  });

  test("keeps no descriptor of what programs left running", async () => {
    const countDescriptors = (): number => linuxFiles.list("/proc/self/fd")?.length ?? 0;
    const before = countDescriptors();
    const env = { PATH: process.env["PATH"] ?? "" };
    const left = (await Promise.all(Array.from({ length: 10 }, () => sh("sleep 30 & echo $!", { env })))).map(({ stdout }) =>
      stdout.trim(),
    );
    // Each had two of them, and those of the tests before may be closed only now.
    await eventually(() => countDescriptors() < before + 10);
    expect(left.filter(isGone)).toEqual([]);
    for (const pid of left) process.kill(Number(pid), "SIGKILL");
    await eventually(() => left.every(isGone));
  });

  test("ends a program that writes without end", async () => {
    await expect(sh("while :; do echo 0123456789012345678901234567890123456789; done", { timeoutMs: 60_000 })).rejects.toMatchObject({
      kind: "ioFailure",
    });
  });

  test("says which program cannot be started, and why", async () => {
    const request = { command: "/nonexistent/plugin", env: {}, timeoutMs: 1_000 };
    await expect(linuxProcesses.run(request)).rejects.toMatchObject({
      kind: "ioFailure",
      message: 'run "/nonexistent/plugin": it cannot be started',
      cause: { code: "ENOENT" },
    });
  });
});

/** Ended, or waiting to be collected by whoever inherited it. */
function isGone(pid: string): boolean {
  const stat = linuxFiles.readText(`/proc/${pid}/stat`);
  return stat === undefined || stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}
