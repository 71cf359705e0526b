import { beforeEach, expect, test } from "bun:test";
import { appendFileSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { quote } from "../../src/lib/quote.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { ledgerLine as line } from "../support/cli/ledger-line.ts";

const world = shareEtcdCliWorld();

beforeEach(() => world.reset());

const other = '{"time":"2026-11-21T16:00:00.000Z","level":"info","msg":"something else"}\nno JSON "msg":"ledger"\n';

async function seconds(...argv: string[]): Promise<readonly string[]> {
  const { entries } = JSON.parse(await world.done(["ledger", ...argv, "-o", "json"])) as { entries: { time: string; verb: string }[] };
  return entries.map(({ time, verb }) => `${verb} ${time.slice(17, 19)}`);
}

test("entries come as a table of phases, and a summary of each verb", async () => {
  const file = world.file(
    "cni.log",
    `${line(1, "ADD", "c1", 10, "default/web")}${other}${line(2, "ADD", "c2", 30)}${line(3, "DEL", "c1", 5)}`,
  );
  expect(await world.done(["ledger", "--file", file])).toBe(
    [
      "TIME                       VERB   CODE   CONTAINER   IFNAME   POD           TOTAL ms   PARSE   KERNEL   TRIPS   RETRIES",
      "2026-11-21T16:00:01.000Z   ADD    0      c1          eth0     default/web      10.00    1.00     3.25       2         0",
      "2026-11-21T16:00:02.000Z   ADD    0      c2          eth0     -                30.00    1.00     3.25       2         0",
      "2026-11-21T16:00:03.000Z   DEL    0      c1          eth0     -                 5.00    1.00     3.25       2         0",
      "",
      "VERB   PHASE    COUNT   P50 ms   P90 ms   P99 ms   MAX ms",
      "ADD    total        2    10.00    30.00    30.00    30.00",
      "ADD    parse        2     1.00     1.00     1.00     1.00",
      "ADD    kernel       2     3.25     3.25     3.25     3.25",
      "DEL    total        1     5.00     5.00     5.00     5.00",
      "DEL    parse        1     1.00     1.00     1.00     1.00",
      "DEL    kernel       1     3.25     3.25     3.25     3.25",
      "",
    ].join("\n"),
  );
});

test("the newest entries are taken, over rotated files, and shown oldest first", async () => {
  world.file("cni-2026-11-20T00-00-00.000.log", line(1) + line(2));
  world.file("cni-2026-11-21T00-00-00.000.log", line(3, "DEL") + line(4, "ADD", "d4"));
  world.file("cni-notes.log", line(9));
  const file = world.file("cni.log", line(5));
  expect(await seconds("--file", file, "--last", "3")).toEqual(["DEL 03", "ADD 04", "ADD 05"]);
  expect(await seconds("--file", file, "--last", "99")).toEqual(["ADD 01", "ADD 02", "DEL 03", "ADD 04", "ADD 05"]);
  expect(await seconds("--file", file, "--verb", "del")).toEqual(["DEL 03"]);
  expect(await seconds("--file", file, "--container", "d")).toEqual(["ADD 04"]);
  expect(await seconds("--file", file, "--container", "4")).toEqual([]);
});

test("a pod is found by its name, with or without its namespace", async () => {
  const pods = ["default/web", "blue/web", "blue/my-web"];
  const file = world.file("cni.log", pods.map((pod, second) => line(second, "ADD", "c1", 10, pod)).join("") + line(9));
  expect(await seconds("--file", file, "--pod", "web")).toEqual(["ADD 00", "ADD 01"]);
  expect(await seconds("--file", file, "--pod=blue/web")).toEqual(["ADD 01"]);
  expect(await seconds("--file", file, "--pod", "we")).toEqual([]);
});

test("a log of any size is read, from its end", async () => {
  const file = world.file("cni.log", `${line(1)}`);
  truncateSync(file, 20_000_000_000); // the rest of it are zeros, which take no room, but more memory than there is
  appendFileSync(file, `\n${line(2)}`);
  expect(await seconds("--file", file, "--last", "1")).toEqual(["ADD 02"]);
});

test("a log that is not there is told, with what to do", async () => {
  expect(await world.ctl(["ledger", "--file", `${world.folder}/none.log`])).toEqual({
    status: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /^netplugctl: read log ".*none\.log": there is no such file; the plugin writes it on the node .* "log_file_path"\nnext: netplugctl ledger --file FILE\n$/,
    ),
  });
  const folder = {
    status: 1,
    stderr: `netplugctl: read log "${world.folder}": it is a folder, want a file\nnext: netplugctl ledger --file FILE\n`,
  };
  expect(await world.ctl(["ledger", "--file", world.folder])).toMatchObject(folder);
});

test("why a log or a config file cannot be read is told in the words of all messages", async () => {
  const loop = join(world.folder, "loop");
  symlinkSync(loop, loop);
  const long = "x".repeat(256);
  for (const [path, reason] of [
    [loop, "its symbolic links lead in a circle, or are more than 40; want a file"],
    [long, "ENAMETOOLONG (file name too long)"],
  ] as const) {
    const failure = (what: string) => ({ status: 1, stdout: "", stderr: `netplugctl: read ${what}${quote(path)}: ${reason}\n` });
    expect(await world.ctl(["ledger", "--file", path])).toEqual(failure("log "));
    expect(await world.ctl(["get", "ipp", "-c", path])).toEqual(failure("config file "));
    expect(await world.ctl(["ipam", "release", "--from-report", path])).toEqual(failure(""));
  }
  const below = join(world.file("a.log", ""), "cni.log");
  expect((await world.ctl(["ledger", "--file", below])).stderr).toContain(": there is no such file; ");
});

test("that there is no entry is told, and why that may be", async () => {
  const empty = world.file("cni.log", other);
  const why = '; the plugin writes them with "log_level" INFO or DEBUG\n';
  for (const filter of [[], ["--pod=default/web"]])
    expect(await world.ctl(["ledger", "--file", empty, ...filter])).toMatchObject({ status: 0, stderr: `no entries in "${empty}"${why}` });
  const file = world.file("cni.log", line(1, "ADD", "c1", 10, "default/web"));
  const filtered = { status: 0, stdout: "", stderr: `no entries in "${file}" that fit --pod "default/wep" and --verb "ADD"\n` };
  expect(await world.ctl(["ledger", "--file", file, "--pod=default/wep", "--verb=ADD"])).toEqual(filtered);
  expect(await world.ctl(["ledger", "--file", file, "--last=0"])).toEqual({ status: 0, stdout: "", stderr: `no entries in "${file}"\n` });
});
