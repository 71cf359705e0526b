/** The place that a run of the suite gets for itself, and the search for what it left there. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TaskFailure } from "../terminal.ts";
import { RUN_MARK, runOf } from "../../test/support/run-mark.ts";
import { testNamespaces } from "./leftovers.ts";
import { allPids, commandOf, endProcess, isRunning, netnsIdOf, netnsIdOfProcess, startVariable } from "./processes.ts";

const NETNS_FOLDER = "/run/netns";
/** How long to wait for what ends by itself. */
const END_LIMIT_MS = 6_000;

/**
 * A network namespace and a temp folder of one run of the suite. Tests start in that namespace: so they touch no interfaces, routes or
 * ports of the host, and what they leave can be told from what others have.
 */
export class TestSandbox {
  readonly folder: string;
  /** undefined without root: then only the unit tests run. */
  readonly netns: string | undefined;
  readonly #netnsId: number | undefined;

  /** @param name tells it from others of this process */
  constructor(name = "suite") {
    this.folder = mkdtempSync(join(tmpdir(), `npgt-${process.pid}-`));
    if (process.getuid?.() !== 0 || Bun.which("ip") === null) return;
    this.netns = `npgt-${process.pid}-${name}`;
    ip("netns", "add", this.netns);
    ip("-n", this.netns, "link", "set", "lo", "up");
    this.#netnsId = netnsIdOf(`${NETNS_FOLDER}/${this.netns}`);
  }

  /** Puts `command` into the sandbox. */
  wrap(command: readonly string[]): string[] {
    return this.netns === undefined ? [...command] : ["nsenter", `--net=${NETNS_FOLDER}/${this.netns}`, ...command];
  }

  environment(): Record<string, string | undefined> {
    return { ...process.env, TMPDIR: this.folder, [RUN_MARK]: this.folder };
  }

  /** Everything that the tests so far should have cleaned up. What it names is removed, so that it is named once. */
  collectLeaks(): string[] {
    return [...this.#leakedProcesses(), ...this.#leakedNamespaces(), ...this.#leakedInterfaces(), ...this.#leakedFiles()];
  }

  [Symbol.dispose](): void {
    if (this.netns !== undefined) ip("netns", "del", this.netns);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #leakedProcesses(): string[] {
    const find = (): readonly number[] => allPids().filter((pid) => pid !== process.pid && this.#isOurs(pid));
    const pids = waitWhile((found) => found.length > 0, find);
    const leaks = pids.map((pid) => {
      const leak = `process ${pid} still runs: ${commandOf(pid)}`;
      endProcess(pid);
      return leak;
    });
    waitWhile(
      (left) => left.length > 0,
      () => pids.filter(isRunning),
    );
    return leaks;
  }

  /** Started by a test: it has our mark in its environment, or, where that was not handed on, is in our namespace. */
  #isOurs(pid: number): boolean {
    if (!isRunning(pid)) return false;
    return startVariable(pid, RUN_MARK) === this.folder || (this.#netnsId !== undefined && netnsIdOfProcess(pid) === this.#netnsId);
  }

  #leakedNamespaces(): string[] {
    const mark = `-${runOf(this.folder)}`;
    return testNamespaces()
      .filter(({ name, maker }) => name.includes(mark) && !isRunning(maker))
      .map(({ name }) => {
        ip("netns", "del", name);
        return `network namespace "${name}" is left`;
      });
  }

  #leakedInterfaces(): string[] {
    const netns = this.netns;
    if (netns === undefined) return [];
    const find = (): readonly { readonly ifname: string }[] =>
      (JSON.parse(ip("-n", netns, "-j", "link", "show")) as readonly { readonly ifname: string }[]).filter(({ ifname }) => ifname !== "lo");
    return waitWhile((found) => found.length > 0, find).map(({ ifname }) => {
      Bun.spawnSync(["ip", "-n", netns, "link", "del", ifname], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
      return `interface "${ifname}" is left in the namespace that the tests run in`;
    });
  }

  #leakedFiles(): string[] {
    return readdirSync(this.folder).map((name) => {
      rmSync(join(this.folder, name), { recursive: true, force: true });
      return `temp file or folder "${name}" is left`;
    });
  }
}

/** Processes that were told to end may need a moment for it, and so does the kernel for a namespace. @returns what is found at last */
function waitWhile<T>(isSo: (found: T) => boolean, find: () => T): T {
  let found = find();
  for (const end = performance.now() + END_LIMIT_MS; isSo(found) && performance.now() < end; found = find()) Bun.sleepSync(20);
  return found;
}

function ip(...args: readonly string[]): string {
  const result = Bun.spawnSync(["ip", ...args], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  if (!result.success) throw new TaskFailure(`ip ${args.join(" ")}: ${result.stderr.toString().trim()}`);
  return result.stdout.toString();
}
