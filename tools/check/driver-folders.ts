/** Which folder of a datastore driver may import which, so that requests and answers go one way through a driver. */

import type { Problem } from "./problem.ts";
import { isProduct } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

/** Each folder with those that it may import, which are above it in the list: so no two can import each other. */
export type DriverFolders = ReadonlyMap<string, readonly string[]>;

/** The files of a driver's own folder connect the others: they may import all of them, and none of these imports them. */
export const DRIVERS: ReadonlyMap<string, DriverFolders> = new Map([
  [
    "src/datastore/etcd",
    new Map([
      ["protocol", []],
      ["layout", ["protocol"]],
      ["plans", ["layout", "protocol"]],
      ["wire", ["protocol"]],
      ["wire/gateway", ["wire", "protocol"]],
      ["wire/grpc", ["wire", "protocol"]],
      ["client", ["wire", "wire/gateway", "wire/grpc", "protocol"]],
    ]),
  ],
  [
    "src/datastore/kubernetes",
    new Map([
      ["objects", []],
      ["state", []],
      ["reads", ["objects", "state"]],
      ["writes", ["objects", "state", "reads"]],
      ["watch", ["objects"]],
    ]),
  ],
  ["src/datastore/memory", new Map()],
]);

/** What lies beside the drivers: which of them, and where. */
const NO_DRIVER = "src/datastore/config";

interface Place {
  readonly driver: string;
  /** "" for the driver's own folder. */
  readonly folder: string;
}

/** Import direction between the folders of each driver, and none from one driver into another. */
export function checkDriverFolders(files: readonly SourceFile[]): Problem[] {
  return files.filter(({ path }) => isProduct(path)).flatMap(checkFile);
}

function checkFile({ path, imports }: SourceFile): Problem[] {
  const from = placeOf(path);
  if (from === undefined) {
    return /^src\/datastore\/.*\//.test(path) && !path.startsWith(`${NO_DRIVER}/`)
      ? [`${path}: is in no driver's folder: put it into the table of tools/check/driver-folders.ts`]
      : [];
  }
  if (from.folder !== "" && DRIVERS.get(from.driver)?.has(from.folder) !== true) {
    return [`${path}: "${from.folder}" is no folder of ${from.driver}: put it into the table of tools/check/driver-folders.ts`];
  }
  return imports.flatMap(({ target, line }) => {
    const to = target === undefined ? undefined : placeOf(target);
    return to === undefined || mayEnter(from, to)
      ? []
      : [`${path}:${line}: imports ${target}; want what tools/check/driver-folders.ts lets ${from.driver}/${from.folder} import`];
  });
}

function mayEnter(from: Place, to: Place): boolean {
  if (from.driver !== to.driver) return false;
  if (from.folder === to.folder || from.folder === "") return true;
  return DRIVERS.get(from.driver)?.get(from.folder)?.includes(to.folder) === true;
}

function placeOf(path: string): Place | undefined {
  const driver = [...DRIVERS.keys()].find((folder) => path.startsWith(`${folder}/`));
  if (driver === undefined) return undefined;
  const end = path.lastIndexOf("/");
  return { driver, folder: path.slice(driver.length + 1, Math.max(driver.length + 1, end)) };
}
