/** A cgroup of a node's own in every hierarchy that the machine has, so that what runs in it can be found and removed. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface Hierarchy {
  /** As `mount -o` takes it; undefined for cgroup v2. */
  readonly controllers: string | undefined;
  /** Where it is mounted. */
  readonly mount: string;
  /** This process's cgroup in it. */
  readonly own: string;
}

/** Every mounted hierarchy: one with cgroup v2, several with v1 or both. */
function hierarchies(): readonly Hierarchy[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, , type]) => type === "cgroup" || type === "cgroup2");
  return readFileSync("/proc/self/cgroup", "utf8")
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const [, controllers = "", own = "/"] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      const found = mounts.find(([, , type, options = ""]) =>
        controllers === "" ? type === "cgroup2" : type === "cgroup" && options.split(",").includes(controllers.split(",")[0] ?? ""),
      );
      return found?.[1] === undefined ? [] : [{ controllers: controllers === "" ? undefined : controllers, mount: found[1], own }];
    });
}

export interface NodeCgroups {
  /** One per hierarchy: what the node sees as the root. */
  readonly roots: readonly string[];
  /** Those that the node's own processes are in. */
  readonly leaves: readonly string[];
  /** Commands, one a line, that mount the hierarchies anew inside a cgroup namespace. */
  readonly mountScript: string;
}

/** @param name unique on the machine */
export function planCgroups(name: string): NodeCgroups {
  const all = hierarchies();
  // below this process's own, so that its limits hold; cgroup v2 hands controllers down only from a cgroup without processes
  const roots = all.map(({ controllers, mount, own }) => join(mount, controllers === undefined ? "/" : own, name));
  return {
    roots,
    leaves: all.map(({ controllers }, index) => join(roots[index] ?? "", controllers === undefined ? "init" : "")),
    mountScript: [...(isUnified(all) ? [] : ["mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup"]), ...all.map(mountCommand)].join("\n"),
  };
}

/** Makes what {@link planCgroups} planned. */
export function makeCgroups({ roots, leaves }: NodeCgroups): void {
  for (const root of roots) {
    handDown(join(root, ".."));
    mkdirSync(root);
    for (const file of ["cpuset.cpus", "cpuset.mems"]) inherit(root, file);
  }
  for (const leaf of leaves) mkdirSync(leaf, { recursive: true });
}

/** Where cgroups that tests make are: at the top of every hierarchy, and below this process's own. */
export function cgroupPlaces(): readonly string[] {
  const places = hierarchies().flatMap(({ mount, own }) => [mount, join(mount, own)]);
  return [...new Set(places)].filter((place) => existsSync(place));
}

/**
 * One try at a cgroup with all in it, from the inside out: one with another in it cannot go. Its processes are ended, and need a moment.
 *
 * @returns whether it is gone
 */
export function removeCgroup(folder: string): boolean {
  if (!existsSync(folder)) return true;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name));
  }
  for (const pid of readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean)) {
    // what a killed runtime left: nobody else is in a cgroup of ours
    if (Number(pid) > 1) process.kill(Number(pid), "SIGKILL");
  }
  try {
    rmdirSync(folder);
  } catch {
    // its processes are still ending: the caller tries again
  }
  return !existsSync(folder);
}

/** In cgroup v2 a controller works in a cgroup only when the one above says so. */
function handDown(folder: string): void {
  const available = join(folder, "cgroup.controllers");
  if (!existsSync(available)) return;
  for (const controller of readFileSync(available, "utf8").trim().split(" ").filter(Boolean)) {
    try {
      writeFileSync(join(folder, "cgroup.subtree_control"), `+${controller}`);
    } catch {
      // the kernel keeps it for itself; when the kubelet cannot do without, it says so
    }
  }
}

/** An empty cpuset of v1 takes no process. */
function inherit(folder: string, file: string): void {
  const [above, own] = [join(folder, "..", file), join(folder, file)];
  if (existsSync(above) && existsSync(own)) writeFileSync(own, readFileSync(above));
}

/** cgroup v2 alone is mounted in the place where the folder of the others is otherwise. */
function isUnified(all: readonly Hierarchy[]): boolean {
  return all.some(({ mount }) => mount === "/sys/fs/cgroup");
}

function mountCommand({ controllers, mount }: Hierarchy): string {
  const make = mount === "/sys/fs/cgroup" ? "" : `mkdir -p ${mount} && `;
  return controllers === undefined
    ? `${make}mount -t cgroup2 cgroup2 ${mount}`
    : `${make}mount -t cgroup -o ${optionsOf(controllers)} cgroup ${mount}`;
}

/** A hierarchy with a name and no controller needs both said. */
function optionsOf(controllers: string): string {
  return controllers.startsWith("name=") ? `none,${controllers}` : controllers;
}
