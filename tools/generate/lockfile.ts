/**
 * `package-lock.json` with an entry for each optional package of every platform, which `npm ci` wants. npm leaves out those that its registry
 * does not have, as a mirror may not; nobody on Linux x64 or arm64 with glibc needs them, so an entry without a checksum is enough: nothing installs it.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { TaskFailure } from "../terminal.ts";

/** What we read of a package's entry in the lockfile. */
interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly license?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** `linux-arm-gnueabihf` at the end of a package's name: operating system, CPU and, on Linux, C library. */
const PLATFORM = /(?<os>android|darwin|freebsd|linux|openharmony|win32)-(?<cpu>[a-z0-9]+)(-(?<abi>[a-z]+))?$/u;

const FOLDER = "node_modules/";

/** The file as it should be; the same text where nothing is missing. */
export function completeLockfile(text = readFileSync(join(repositoryRoot, "package-lock.json"), "utf8")): string {
  const lockfile = JSON.parse(text) as Lockfile;
  const missing = Object.values(lockfile.packages).flatMap((parent) =>
    Object.entries(parent.optionalDependencies ?? {})
      .filter(([name]) => lockfile.packages[FOLDER + name] === undefined)
      .map(([name, version]) => [FOLDER + name, toEntry(name, version, parent)] as const),
  );
  if (missing.length === 0) return text;
  const packages = Object.fromEntries([...Object.entries(lockfile.packages), ...missing].sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ ...lockfile, packages }, undefined, 2)}\n`;
}

function toEntry(name: string, version: string, parent: LockedPackage): Readonly<Record<string, unknown>> {
  const platform = PLATFORM.exec(name)?.groups;
  if (platform === undefined || !/^\d/u.test(version))
    throw new TaskFailure(
      `package-lock.json lacks "${name}": got "${version}" of no platform that is known here, want an exact version of one`,
    );
  const { os, cpu, abi } = platform;
  return {
    version,
    cpu: [cpu],
    ...(parent.dev !== undefined && { dev: parent.dev }),
    ...(os === "linux" && { libc: [abi?.startsWith("musl") === true ? "musl" : "glibc"] }),
    ...(parent.license !== undefined && { license: parent.license }),
    optional: true,
    os: [os],
  };
}
