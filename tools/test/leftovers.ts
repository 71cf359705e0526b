/**
 * What killed runs of the suite left on the machine. Everything of a run carries the number of its process: network namespaces, cgroups
 * and temp folders in their name, processes in a variable. What belongs to a process that lives is never touched.
 */

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cgroupPlaces, removeCgroup } from "../../test/support/daemons/cgroups.ts";
import { RUN_MARK } from "../../test/support/run-mark.ts";
import { allPids, commandOf, endProcess, isRunning, netnsIdOf, netnsIdOfProcess, startVariable } from "./processes.ts";

const NETNS_FOLDER = "/run/netns";
/** Names of network namespaces that tests make, and of temp folders that runs make; the process that made it follows. */
const OWNED = /^npgt-(\d+)-/;
/** They clean up after a cluster, and know better than we how. */
const CLUSTER_JANITOR = /\/test\/support\/daemons\/janitor\.ts$/;

const END_LIMIT_MS = 30_000;
const MAX_PASSES = 4;

/** Names of the network namespaces that tests have made, with the process that did. */
export function testNamespaces(): readonly { readonly name: string; readonly maker: number }[] {
  return ownedIn(NETNS_FOLDER);
}

/** Clears what belongs to runs that are over. @returns what it was, a line each */
export async function clearLeftovers(): Promise<readonly string[]> {
  const cleared: string[] = [];
  // a process that is ended leaves what it made itself
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const now = await clearOnce();
    if (now.length === 0) break;
    cleared.push(...now);
  }
  return cleared;
}

async function clearOnce(): Promise<readonly string[]> {
  const folders = ownedIn(tmpdir())
    .filter(({ maker }) => !isRunning(maker))
    .map(({ name }) => join(tmpdir(), name));
  const namespaces = testNamespaces().filter(({ maker }) => !isRunning(maker));
  const cleared = [
    ...(await endProcesses(
      folders,
      namespaces.map(({ name }) => join(NETNS_FOLDER, name)),
    )),
    ...folders.flatMap((folder) => [...unmountBelow(folder), ...removeFolder(folder)]),
  ];
  for (const cgroup of deadCgroups()) {
    if (await removeWhole(cgroup)) cleared.push(`cgroup ${cgroup}`);
  }
  for (const { name } of namespaces) {
    // a cluster's janitor may have been quicker
    if (ip(["netns", "del", name])) cleared.push(`network namespace "${name}"`);
  }
  return cleared;
}

function ownedIn(folder: string): readonly { readonly name: string; readonly maker: number }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const maker = OWNED.exec(name)?.[1];
    return maker === undefined ? [] : [{ name, maker: Number(maker) }];
  });
}

/** Those of dead runs by their mark, and whatever runs in a namespace of theirs, for not every program hands its environment on. */
async function endProcesses(folders: readonly string[], namespaces: readonly string[]): Promise<readonly string[]> {
  const inFolders = folders.flatMap((folder) => mountsBelow(folder));
  const ids = new Set([...namespaces, ...inFolders].map(netnsIdOf).filter((id) => id !== undefined));
  const own = netnsIdOfProcess(process.pid);
  if (own !== undefined) ids.delete(own);
  const isTheirs = (pid: number): boolean => {
    if (pid === process.pid || !isRunning(pid)) return false;
    const maker = OWNED.exec(startVariable(pid, RUN_MARK)?.replace(/^.*\//, "") ?? "")?.[1];
    return maker === undefined ? ids.has(netnsIdOfProcess(pid) ?? -1) : !isRunning(Number(maker));
  };
  const cleared: string[] = [];
  for (const end = performance.now() + END_LIMIT_MS; performance.now() < end; await Bun.sleep(20)) {
    const left = allPids().filter(isTheirs);
    if (left.length === 0) break;
    for (const pid of left.filter((one) => !CLUSTER_JANITOR.test(commandOf(one)))) {
      cleared.push(`process ${pid}: ${commandOf(pid)}`);
      endProcess(pid);
    }
  }
  return [...new Set(cleared)];
}

/** The last mounted first. */
function mountsBelow(folder: string): readonly string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[1] ?? "").replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))))
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse();
}

function unmountBelow(folder: string): readonly string[] {
  return mountsBelow(folder).map((path) => {
    Bun.spawnSync(["umount", "--lazy", path], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    return `mount ${path}`;
  });
}

/** Never through a mount that stayed. */
function removeFolder(folder: string): readonly string[] {
  if (mountsBelow(folder).length > 0) return [];
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    return []; // another user's
  }
  return [`folder ${folder}`];
}

function deadCgroups(): readonly string[] {
  return cgroupPlaces().flatMap((place) =>
    ownedIn(place)
      .filter(({ maker }) => !isRunning(maker))
      .map(({ name }) => join(place, name)),
  );
}

async function removeWhole(cgroup: string): Promise<boolean> {
  for (let tries = 0; tries < 500; tries++) {
    try {
      if (removeCgroup(cgroup)) return true;
    } catch {
      // a process of it ended between the look and the deed
    }
    await Bun.sleep(20);
  }
  return false;
}

function ip(args: readonly string[]): boolean {
  return Bun.which("ip") !== null && Bun.spawnSync(["ip", ...args], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).success;
}
