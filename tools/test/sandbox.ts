/** The place that a run of the suite gets for itself, and the search for what it left there. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TaskFailure } from "../terminal.ts";

const NETNS_FOLDER = "/run/netns";
/** Prefix of every network namespace that a test makes; the process that made it follows. */
const TEST_NETNS = /^npgt-(\d+)-/;
const MARK = "NETPLUG_TEST_RUN";

/**
 * A network namespace and a temp folder of one run of the suite. Whatever tests do in the namespace that they start in, the
 * host's interfaces, routes and ports are not touched, and what is left over can be told from what others have.
 */
export class TestSandbox {
  readonly folder: string;
  /** undefined without root: then only the unit tests run. */
  readonly netns: string | undefined;
  readonly #mark: string;
  readonly #netnsId: number | undefined;
  readonly #namespacesBefore: ReadonlySet<string>;

  constructor() {
    this.#namespacesBefore = new Set(testNamespaces());
    this.folder = mkdtempSync(join(tmpdir(), "npgt-"));
    this.#mark = this.folder;
    if (process.getuid?.() !== 0 || Bun.which("ip") === null) return;
    this.netns = `npgt-${process.pid}-suite`;
    ip("netns", "add", this.netns);
    ip("-n", this.netns, "link", "set", "lo", "up");
    this.#netnsId = netnsIdOf(`${NETNS_FOLDER}/${this.netns}`);
  }

  /** Puts `command` into the sandbox. */
  wrap(command: readonly string[]): string[] {
    return this.netns === undefined ? [...command] : ["nsenter", `--net=${NETNS_FOLDER}/${this.netns}`, ...command];
  }

  environment(): Record<string, string | undefined> {
    return { ...process.env, TMPDIR: this.folder, [MARK]: this.#mark };
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
    const leaks: string[] = [];
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      if (Number(pid) === process.pid || !this.#isOurs(pid)) continue;
      leaks.push(`process ${pid} still runs: ${commandOf(pid)}`);
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // it ended by itself meanwhile
      }
    }
    return leaks;
  }

  /** Started by a test: it has our mark in its environment, or, where that was not handed on, is in our namespace. */
  #isOurs(pid: string): boolean {
    if (isZombie(pid)) return false;
    return hasMark(pid, `${MARK}=${this.#mark}`) || (this.#netnsId !== undefined && netnsIdOf(`/proc/${pid}/ns/net`) === this.#netnsId);
  }

  #leakedNamespaces(): string[] {
    return testNamespaces()
      .filter(
        (name) => name !== this.netns && !this.#namespacesBefore.has(name) && !existsSync(`/proc/${TEST_NETNS.exec(name)?.[1] ?? "-"}`),
      )
      .map((name) => {
        ip("netns", "del", name);
        return `network namespace "${name}" is left`;
      });
  }

  #leakedInterfaces(): string[] {
    const netns = this.netns;
    if (netns === undefined) return [];
    const links = JSON.parse(ip("-n", netns, "-j", "link", "show")) as readonly { readonly ifname: string }[];
    return links
      .filter(({ ifname }) => ifname !== "lo")
      .map(({ ifname }) => {
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

function testNamespaces(): string[] {
  return existsSync(NETNS_FOLDER) ? readdirSync(NETNS_FOLDER).filter((name) => TEST_NETNS.test(name)) : [];
}

function hasMark(pid: string, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\u0000").includes(mark);
  } catch {
    return false;
  }
}

function isZombie(pid: string): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}

/** The inode that names a network namespace; undefined for a process that ended. */
function netnsIdOf(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\u0000", " ").trim();
  } catch {
    return "(ended)";
  }
}

function ip(...args: readonly string[]): string {
  const result = Bun.spawnSync(["ip", ...args], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  if (!result.success) throw new TaskFailure(`ip ${args.join(" ")}: ${result.stderr.toString().trim()}`);
  return result.stdout.toString();
}
