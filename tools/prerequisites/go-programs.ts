/** Programs that are built from Go modules, once per machine, into the cache folder. */

import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { say, since, TaskFailure } from "../terminal.ts";
import { runGoBuild } from "./go-build.ts";
import { findGo } from "./go-compiler.ts";
import { goCacheFolder, makeStaging, markUsed } from "./go-cache.ts";

export interface GoProgram {
  /** File name in the cache folder. */
  readonly name: string;
  /** Folder with go.mod and go.sum, from the repository's root. */
  readonly folder: string;
  /** Package to build, as `go build` names it. */
  readonly package: string;
}

/** Programs of one module that are built together, into one folder: what they share is compiled once. */
export interface GoProgramSet {
  /** Begins the name of their folder in the cache. */
  readonly name: string;
  readonly folder: string;
  /** For the linker, besides `-s -w`. */
  readonly linkerFlags: readonly string[];
  /** By the name of the file. Of several, `go build` calls it as the last part of the package's path. */
  readonly packages: Readonly<Record<string, string>>;
}

export const LIBCNI_DRIVER: GoProgram = { name: "libcni-driver", folder: "test/libcni", package: "." };
export const NEWER_ETCD: GoProgram = { name: "etcd", folder: "test/newer-etcd", package: "go.etcd.io/etcd/server/v3" };

/**
 * Builds a program unless the cache folder has it from the same sources.
 *
 * @returns its path, or undefined without a Go that is new enough
 * @throws TaskFailure with the compiler's output
 */
export async function ensureGoProgram(program: GoProgram): Promise<string | undefined> {
  const folder = await ensureGoPrograms(setOfOne(program), [program.name]);
  return folder === undefined ? undefined : join(folder, program.name);
}

/** Where {@link ensureGoProgram} puts a program of the present sources, whether it is there or not. */
export function goProgramPath(program: GoProgram): string {
  return join(goCacheFolder(setOfOne(program)), program.name);
}

function setOfOne({ name, folder, package: only }: GoProgram): GoProgramSet {
  return { name, folder, linkerFlags: [], packages: { [name]: only } };
}

/**
 * Builds those of the programs named that the cache folder has not from the same sources.
 *
 * @returns the folder that they lie in, or undefined without a Go that is new enough
 * @throws TaskFailure with the compiler's output
 */
export async function ensureGoPrograms(set: GoProgramSet, names: readonly string[]): Promise<string | undefined> {
  const target = goCacheFolder(set);
  const missing = names.filter((name) => !existsSync(join(target, name)));
  if (missing.length === 0) {
    markUsed(target);
    return target;
  }
  const go = findGo(set.folder);
  if (go === undefined) return undefined;
  const staging = makeStaging(target);
  await build(go, set, missing, staging);
  for (const name of missing) renameSync(join(staging, name), join(target, name));
  rmSync(staging, { recursive: true });
  return target;
}

function packageOf(set: GoProgramSet, name: string): string {
  const found = set.packages[name];
  if (found === undefined) throw new Error(`build ${name}: ${set.folder} has no such program`);
  return found;
}

/** Builds into `staging`, which is removed when that fails. A program that is built alone need not be called as its package. */
async function build(go: string, set: GoProgramSet, names: readonly string[], staging: string): Promise<void> {
  const started = performance.now();
  const what = names.join(", ");
  say(`building ${what} with Go (once per machine) …`);
  const output = `${staging}/${names.length === 1 ? what : ""}`;
  const packages = names.map((name) => packageOf(set, name));
  const folder = join(repositoryRoot, set.folder);
  const { status, complaints } = await runGoBuild({ go, folder, output, linkerFlags: set.linkerFlags, packages });
  if (status !== 0) {
    rmSync(staging, { recursive: true, force: true });
    throw new TaskFailure(`build ${what}: go ended with status ${status}:\n${complaints}`);
  }
  say(`built ${what} (${since(started)})`);
}
