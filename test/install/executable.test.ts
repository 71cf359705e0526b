/** `dist/netplug install-cni` as a process of its own. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cniPluginsFolder } from "../support/programs/cni.ts";
import { eventually } from "../support/time/eventually.ts";
import { testSeed } from "../support/seed.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { makeInstallerFolders } from "./support/installer-folders.ts";
import { end, EXECUTABLE, type LogLine, run, start } from "./support/installer-process.ts";

let folder: string;
let bin: string;
let conf: string;
beforeEach(() => void ({ folder, bin, conf } = makeInstallerFolders()));
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs its arguments where the folder is read-only. */
const readOnlyScript = (path: string): string => `mount --bind ${path} ${path} && mount -o remount,ro,bind ${path} && exec "$@"`;

/** Waits until a process can be told to end: it has its own way of ending then. */
async function untilRunning(pid: number): Promise<void> {
  const catches = (): boolean => {
    const mask = /^SigCgt:\t([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
    return (BigInt(`0x${mask}`) & (1n << 14n)) !== 0n;
  };
  while (!catches()) await Bun.sleep(1);
}

const places = (): readonly string[] => ["--bin-dir", bin, "--conf-dir", conf];

/** Reads lines until the one that says that it is done. */
async function untilReady(child: ReturnType<typeof start>): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stderr) {
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = pieces.pop() ?? "";
    lines.push(...pieces.map((line) => JSON.parse(line) as LogLine));
    if (lines.some(({ event }) => event === "ready")) return lines;
  }
  throw new Error(`it ended before it was ready: ${JSON.stringify(lines)}`);
}

test("what it installs is itself, and runs under both names", async () => {
  const { status, stdout, lines } = await run([...places(), "--once"]);
  expect([status, stdout, lines.at(-1)?.["event"]]).toEqual([0, "", "ready"]);
  expect(readFileSync(join(bin, "netplug")).equals(readFileSync(EXECUTABLE))).toBe(true);
  expect(statSync(join(bin, "netplug-ipam")).ino).toBe(statSync(join(bin, "netplug")).ino);
  for (const name of ["netplug", "netplug-ipam"]) {
    const answer = Bun.spawnSync([join(bin, name)], { env: { CNI_COMMAND: "VERSION" }, stdin: Buffer.from('{"cniVersion":"1.1.0"}') });
    expect(JSON.parse(answer.stdout.toString())).toMatchObject({ supportedVersions: expect.arrayContaining(["1.1.0"]) as string[] });
  }
});

test("run from where it installs to, it changes nothing there but what is missing", async () => {
  await run([...places(), "--once"]);
  rmSync(join(bin, "netplug-ipam"));
  const { ino } = statSync(join(bin, "netplug"));
  const child = Bun.spawn([join(bin, "netplug"), "install-cni", ...places(), "--once"], {
    env: {},
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
  });
  expect((await end(child)).status).toBe(0);
  expect([statSync(join(bin, "netplug")).ino, statSync(join(bin, "netplug-ipam")).ino]).toEqual([ino, ino]);
});

test("the version of portmap that is there decides what the network config says", async () => {
  symlinkSync(join(cniPluginsFolder, "portmap"), join(bin, "portmap"));
  const asked = Bun.spawnSync([join(cniPluginsFolder, "portmap")], {
    env: { CNI_COMMAND: "VERSION" },
    stdin: Buffer.from('{"cniVersion":"1.0.0"}'),
  });
  const { supportedVersions } = JSON.parse(asked.stdout.toString()) as { readonly supportedVersions: readonly string[] };
  await run([...places(), "--once"]);
  const config = JSON.parse(readFileSync(join(conf, "10-netplug.conflist"), "utf8")) as { readonly cniVersion: string };
  expect(config.cniVersion).toBe(supportedVersions.includes("1.1.0") ? "1.1.0" : "1.0.0");
});

describe("without --once", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("it stays until %s, and ends at once with 0", async (signal) => {
    const child = start(places(), { REMOVE_ON_STOP: "true" });
    const lines = await untilReady(child);
    expect(lines.every(({ time, level, msg }) => [time, level, msg].every((value) => typeof value === "string"))).toBe(true);
    expect(existsSync(join(conf, "10-netplug.conflist"))).toBe(true);
    const stopped = performance.now();
    child.kill(signal);
    expect(await child.exited).toBe(0);
    expect(performance.now() - stopped).toBeLessThan(2_000);
    expect([readdirSync(conf), readdirSync(bin).sort()]).toEqual([[], ["netplug", "netplug-ipam"]]);
  });

  test("whoever asks whether it is ready is told so once everything is in its place, by the exit status", async () => {
    const env = { STATE_FILE: join(folder, "state") };
    const ask = async (): Promise<object> => {
      const { status, stdout, stderr } = await run(["--ready"], env);
      return { status, stdout, stderr };
    };
    expect(await ask()).toEqual({
      status: 1,
      stdout: "",
      stderr: `the installer has not started: there is no "${env.STATE_FILE}"\n`,
    });
    const child = start(places(), env);
    await untilReady(child);
    expect(await ask()).toEqual({ status: 0, stdout: "", stderr: "ready\n" });
    expect(statSync(env.STATE_FILE).mode & 0o7777).toBe(0o600);
    child.kill("SIGKILL");
    await child.exited;
    rmSync(join(bin, "netplug"));
    expect((await run(["--once"], { ...env, CNI_MTU: "big" })).status).toBe(1);
    expect((await run([...places(), "--once"], env, ["unshare", "--mount", "sh", "-c", readOnlyScript(bin), "sh"])).status).toBe(1);
    expect(await ask()).toEqual({ status: 1, stdout: "", stderr: "not everything is in its place yet\n" });
    expect((await run(["--ready"])).status).toBe(2);
  });

  test("killed it is not called ready any more, and each that follows has its own say; ended as asked it still is", async () => {
    const env = { STATE_FILE: join(folder, "state") };
    const ask = async (): Promise<readonly unknown[]> => {
      const { status, stderr } = await run(["--ready"], env);
      return [status, stderr];
    };
    const dead = [1, `the installer has died: nobody holds "${env.STATE_FILE}" any more; see its log, and start it again\n`];
    // The first process of its namespace, as in a container: each has the same process ID.
    const asFirst = ["unshare", "--pid", "--fork", "--kill-child=SIGKILL"];
    for (let i = 0; i < 2; i++) {
      const child = start(places(), env, asFirst);
      await untilReady(child);
      expect(await ask()).toEqual([0, "ready\n"]);
      child.kill("SIGKILL");
      await child.exited;
      // The kernel may need a moment for the child of `unshare`.
      await eventually(async () => expect(await ask()).toEqual(dead), 10_000);
    }
    const last = start(places(), env);
    await untilReady(last);
    last.kill("SIGTERM");
    expect(await last.exited).toBe(0);
    expect(await ask()).toEqual([0, "ready\n"]);
  });

  test("asked to end at any time it ends with 0, leaves no part of a file, and no network config when it was asked to", async () => {
    const random = seededRandom(testSeed());
    for (let i = 0; i < 10; i++) {
      const child = start(places(), { REMOVE_ON_STOP: "true", STATE_FILE: join(folder, "state") });
      await untilRunning(child.pid);
      await Bun.sleep(random() * 120);
      child.kill("SIGTERM");
      const { status, lines } = await end(child);
      expect([status, lines.at(-1)?.["event"], readdirSync(conf)]).toEqual([0, "stopped", []]);
      for (const name of readdirSync(bin)) expect(readFileSync(join(bin, name)).equals(readFileSync(EXECUTABLE))).toBe(true);
      if (i % 2 === 1) for (const name of readdirSync(bin)) rmSync(join(bin, name));
    }
  });

  test("SLEEP=false is the same as --once", async () => {
    expect((await run(places(), { SLEEP: "false" })).status).toBe(0);
  });

  test("as the first process of its namespace it ends by SIGTERM too", async () => {
    const child = start(places(), {}, ["unshare", "--fork", "--pid", "--kill-child"]);
    await untilReady(child);
    const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
    process.kill(Number(first), "SIGTERM");
    expect(await child.exited).toBe(0);
  });
});

describe("a target that cannot be written", () => {
  const readOnly = (path: string): readonly string[] => ["unshare", "--mount", "sh", "-c", readOnlyScript(path), "sh"];

  test.each([
    ["folder of network configs", () => conf],
    ["folder of plugins", () => bin],
  ])("a read-only %s is refused with its path and the reason", async (_what, path) => {
    const { status, lines } = await run([...places(), "--once"], {}, readOnly(path()));
    expect([status, lines.at(-1)?.["level"], lines.at(-1)?.["msg"]]).toEqual([
      1,
      "ERROR",
      `install into "${path()}": write to "${path()}": EROFS (read-only file system); mount it writable, or name another folder`,
    ]);
    expect([readdirSync(bin), readdirSync(conf)]).toEqual([[], []]);
  });

  test("a read-only folder of plugins that has all of them is none", async () => {
    await run([...places(), "--once"]);
    expect((await run([...places(), "--once"], {}, readOnly(bin))).status).toBe(0);
  });

  test("a full disk is said, and nothing is left of what did not fit", async () => {
    const small = [
      "unshare",
      "--mount",
      "sh",
      "-c",
      `mount -t tmpfs -o size=8m none ${bin} && "$@"; status=$?; ls -A ${bin} >&2; exit $status`,
      "sh",
    ];
    const { status, lines, stderr } = await run([...places(), "--once"], {}, small);
    expect([status, lines.at(-1)?.["msg"]]).toEqual([
      1,
      expect.stringMatching(/^install ".*\/bin\/netplug": write ".*": ENOSPC \(no space left on device\)$/),
    ]);
    expect(stderr.trimEnd().split("\n").at(-1)).toStartWith("{");
  });

  test("a disk that is full of something else is said too, and what was there stays", async () => {
    await run([...places(), "--once"]);
    const small = `mount -t tmpfs -o size=64k none ${conf} && echo '{}' > ${conf}/10-netplug.conflist && head -c 60k /dev/zero > ${conf}/full; "$@"; status=$?; ls -A ${conf} >&2; cat ${conf}/10-netplug.conflist >&2; exit $status`;
    const { status, lines, stderr } = await run([...places(), "--once"], {}, ["unshare", "--mount", "sh", "-c", small, "sh"]);
    expect([status, lines.find(({ level }) => level === "ERROR")?.["msg"]]).toEqual([
      1,
      expect.stringMatching(/^install ".*\/10-netplug.conflist": (?:write|create) ".*": ENOSPC \(no space left on device\)$/),
    ]);
    expect(stderr.trimEnd().split("\n").slice(-3)).toEqual(["10-netplug.conflist", "full", "{}"]);
  });

  test("the default folders are refused where nobody has mounted the host's", async () => {
    const { status, lines } = await run(["--once"]);
    expect([status, lines.at(-1)?.["msg"]]).toEqual([
      1,
      'install into "/host/opt/cni/bin": there is no such folder; mount the host\'s folder there, or name it with --bin-dir',
    ]);
  });
});

test("several at the same time leave one installation", async () => {
  const runs = await Promise.all([1, 2, 3].map(async () => await run([...places(), "--once"])));
  expect(runs.map(({ status }) => status)).toEqual([0, 0, 0]);
  expect([readdirSync(bin).sort(), readdirSync(conf)]).toEqual([["netplug", "netplug-ipam"], ["10-netplug.conflist"]]);
  expect(runs.flatMap(({ lines }) => lines.filter(({ msg }) => msg === "executable installed"))).toHaveLength(2);
});

test("a process that runs the old executable goes on while it is replaced", async () => {
  writeFileSync(join(bin, "netplug"), readFileSync("/bin/sleep"), { mode: 0o755 });
  const old = Bun.spawn([join(bin, "netplug"), "60"]);
  try {
    expect((await run([...places(), "--once"])).status).toBe(0);
    expect(old.exitCode).toBeNull();
    expect(readFileSync(`/proc/${old.pid}/exe`).equals(readFileSync("/bin/sleep"))).toBe(true);
  } finally {
    old.kill();
    await old.exited;
  }
});

test("killed at any time, it is repaired by the next run", async () => {
  const random = seededRandom(testSeed());
  for (let i = 0; i < 12; i++) {
    const child = start([...places(), "--once"], { CNI_MTU: String(1400 + i) });
    await Bun.sleep(random() * 150);
    child.kill("SIGKILL");
    await child.exited;
    for (const name of ["netplug", "netplug-ipam"]) {
      if (existsSync(join(bin, name))) expect(readFileSync(join(bin, name)).equals(readFileSync(EXECUTABLE))).toBe(true);
    }
    if (existsSync(join(conf, "10-netplug.conflist")))
      expect(() => JSON.parse(readFileSync(join(conf, "10-netplug.conflist"), "utf8")) as unknown).not.toThrow();
    if (i % 3 === 2) rmSync(join(bin, "netplug"), { force: true });
  }
  expect((await run([...places(), "--once"])).status).toBe(0);
  expect([readdirSync(bin).sort(), readdirSync(conf)]).toEqual([["netplug", "netplug-ipam"], ["10-netplug.conflist"]]);
});

test.each<[args: readonly string[], status: number, said: string]>([
  [["--help"], 0, "netplug install-cni [--bin-dir D] [--conf-dir D] [--once]"],
  [
    ["--bin"],
    2,
    'netplug install-cni: got "--bin", want --bin-dir, --conf-dir or --once, or --ready alone; see netplug install-cni --help',
  ],
])("%j ends with %p", async (args, status, said) => {
  expect(await run(args)).toMatchObject({ status, stdout: "", stderr: expect.stringContaining(said) as string });
});
