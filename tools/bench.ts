/** `npm run bench`: measures in a network namespace of its own, prints a table, writes JSON. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import type { BenchRow } from "../test/bench/row.ts";
import { build, rewriteExecutable } from "./build.ts";
import { repositoryRoot } from "./repository.ts";
import { bold, dim, green, red, say, since, TaskFailure } from "./terminal.ts";
import { startJanitor } from "./test/janitor.ts";
import { TestSandbox } from "./test/sandbox.ts";

const DEFAULT_ROUNDS = 100;

/** The task: `npm run bench`, `npm run bench -- ROUNDS`. */
export async function runBench(args: readonly string[]): Promise<number> {
  const rounds = args[0] === undefined ? DEFAULT_ROUNDS : Number(args[0]);
  if (!Number.isInteger(rounds) || rounds < 1) throw new TaskFailure(`npm run bench: got "${args[0] ?? ""}", want a number of rounds`);
  build();
  rewriteExecutable();
  const started = performance.now();
  say(bold("measuring") + dim(`, ${rounds} rounds, processes interleaved; nothing else should run meanwhile`));
  startJanitor();
  using sandbox = new TestSandbox();
  const machine = describeMachine(sandbox.folder);
  const command = sandbox.wrap([process.execPath, join(repositoryRoot, "test", "bench", "main.ts"), String(rounds)]);
  const child = Bun.spawn(command, { cwd: repositoryRoot, env: sandbox.environment(), stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const [status, output] = await Promise.all([child.exited, child.stdout.text()]);
  if (status !== 0) throw new TaskFailure(`the benchmark ended with status ${status}: see above`);
  const rows = JSON.parse(output) as readonly BenchRow[];

  const file = join(repositoryRoot, "dist", "bench.json");
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(
    file,
    `${JSON.stringify({ time: new Date().toISOString(), command: `npm run bench -- ${rounds}`, machine, rows }, undefined, 2)}\n`,
  );
  printTable(rows);
  for (const [name, value] of Object.entries(machine)) say(dim(`${name}: ${value}`));
  say(`figures, p50 / p90 / p99, are in ${file} ${dim(since(started))}`);
  return 0;
}

function printTable(rows: readonly BenchRow[]): void {
  console.log("| What | Target | Measured | |");
  console.log("|---|---|---|---|");
  for (const { what, target, measured, met } of rows) {
    const verdict = met === undefined ? "" : met ? green("met") : red("missed");
    console.log(`| ${what} | ${target} | ${measured} | ${verdict} |`);
  }
}

/** What the figures depend on. The data of etcd lies in `folder`, and every write of it waits for that file system. */
function describeMachine(folder: string): Readonly<Record<string, string>> {
  const firstLine = (command: readonly string[]): string => {
    const result = Bun.spawnSync([...command], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...process.env, ETCDCTL_API: "3" },
    });
    return (result.stdout.toString() || result.stderr.toString()).split("\n")[0]?.trim() ?? "";
  };
  const osName = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";
  return {
    cpu: `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${osName}, Linux ${release()}`,
    bun: Bun.version,
    etcd: firstLine(["etcd", "--version"]),
    "file system of etcd's data": `${firstLine(["stat", "-f", "-c", "%T", folder])}, fsync on`,
    "containernetworking-plugins": firstLine(["dpkg-query", "-W", "-f", "${Version}", "containernetworking-plugins"]),
  };
}
