/**
 * What `package-lock.json` must hold, so that `npm ci` installs the same on every machine. npm leaves out what its registry does not have, as a
 * mirror may not; another `npm ci` then refuses the file.
 */

import type { Problem } from "./problem.ts";
import { lineAt } from "./source-tree.ts";

/** What we read of a package's entry in the lockfile. */
interface LockedPackage {
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const FOLDER = "node_modules/";

/** Every package is pinned by its checksum, those of other platforms too, and none by an address, which would bind everybody to one mirror. */
export function checkLockfile(text: string): Problem[] {
  const { packages } = JSON.parse(text) as Lockfile;
  const wanted = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).map((name) => FOLDER + name),
  );
  const pinned = Object.keys(packages).filter((path) => path !== "");
  const without = new Set([...wanted, ...pinned].filter((path) => packages[path]?.integrity === undefined));
  return [
    ...[...text.matchAll(/"resolved":\s*"([a-z+]+:[^"]*)"/g)].map(
      (match) => `package-lock.json:${lineAt(text, match.index)}: holds a download address: write it with the .npmrc of this repository`,
    ),
    ...[...without].map((path) => {
      const name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
      return `package-lock.json: no checksum of "${name}": remove its entry, if any, and run "npm install --package-lock-only" with a registry that has it`;
    }),
  ];
}
