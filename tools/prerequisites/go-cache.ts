/** Where built Go programs are kept: a folder per state of what goes into them, so that clones of different ages get along. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder, repositoryRoot } from "../repository.ts";

const KEPT_UNUSED_MS = 30 * 24 * 60 * 60 * 1000;

/** What decides what a build makes, except for the compiler: any that is new enough will do. */
export interface GoSources {
  /** Begins the folder's name. */
  readonly name: string;
  /** With go.mod and go.sum, from the repository's root. */
  readonly folder: string;
  readonly linkerFlags: readonly string[];
}

/** Whether it is there or not. */
export function goCacheFolder({ name, folder, linkerFlags }: GoSources): string {
  const path = join(repositoryRoot, folder);
  const hash = new Bun.CryptoHasher("sha256").update([process.arch, ...linkerFlags].join("\n"));
  for (const file of readdirSync(path).sort()) {
    if (/^go\.(?:mod|sum)$|\.go$/.test(file)) hash.update(`\n${file}\n`).update(readFileSync(join(path, file)));
  }
  return join(cacheFolder(), "go", `${name}-${hash.digest("hex").slice(0, 16)}`);
}

/** Keeps the folder from {@link makeStaging} of later builds. */
export function markUsed(folder: string): void {
  const now = new Date();
  utimesSync(folder, now, now);
}

/**
 * A place inside the cache folder `target` for a build's output, to be renamed from. Removes what ended builds left there, and
 * whatever state of any program nobody has used for a month: those that no checkout builds any more are never built again.
 */
export function makeStaging(target: string): string {
  const staging = join(target, `.${process.pid}`);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  for (const name of readdirSync(target)) {
    const maker = /^\.(\d+)$/.exec(name)?.[1];
    if (maker !== undefined && !existsSync(`/proc/${maker}`)) rmSync(join(target, name), { recursive: true, force: true });
  }
  const all = dirname(target);
  for (const name of readdirSync(all)) {
    if (/-[0-9a-f]{16}$/.test(name) && Date.now() - statSync(join(all, name)).mtimeMs > KEPT_UNUSED_MS)
      rmSync(join(all, name), { recursive: true, force: true });
  }
  return staging;
}
