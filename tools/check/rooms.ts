/** Which folder of a datastore driver may import which: its rooms, through which requests and answers go one way. */

import type { Problem } from "./problem.ts";
import { isProduct } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";

/** Each room with those that it may import, which stand above it: so no two can import each other. */
export type Rooms = ReadonlyMap<string, readonly string[]>;

/** What lies in a driver's folder itself wires its rooms: it may import all of them, and none of them imports it. */
export const DRIVERS: ReadonlyMap<string, Rooms> = new Map([
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

interface Place {
  readonly driver: string;
  /** "" for what lies in the driver's folder itself. */
  readonly room: string;
}

/** Import direction between the rooms of each driver, and none from one driver into another. */
export function checkRooms(files: readonly SourceFile[]): Problem[] {
  return files.filter(({ path }) => isProduct(path)).flatMap(checkFile);
}

function checkFile({ path, imports }: SourceFile): Problem[] {
  const from = placeOf(path);
  if (from === undefined) return [];
  if (from.room !== "" && DRIVERS.get(from.driver)?.has(from.room) !== true) {
    return [`${path}: "${from.room}" is no room of ${from.driver}: put it into the table of tools/check/rooms.ts`];
  }
  return imports.flatMap(({ target, line }) => {
    const to = target === undefined ? undefined : placeOf(target);
    return to === undefined || mayEnter(from, to)
      ? []
      : [`${path}:${line}: imports ${target}; want what tools/check/rooms.ts lets ${from.driver}/${from.room} import`];
  });
}

function mayEnter(from: Place, to: Place): boolean {
  if (from.driver !== to.driver) return false;
  if (from.room === to.room || from.room === "") return true;
  return DRIVERS.get(from.driver)?.get(from.room)?.includes(to.room) === true;
}

function placeOf(path: string): Place | undefined {
  const driver = [...DRIVERS.keys()].find((folder) => path.startsWith(`${folder}/`));
  if (driver === undefined) return undefined;
  const end = path.lastIndexOf("/");
  return { driver, room: path.slice(driver.length + 1, Math.max(driver.length + 1, end)) };
}
