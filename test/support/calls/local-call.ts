/** For tests: a call of the plugin that touches the node's files and namespaces alone, of which all are made up; there are no interfaces. */

import type { LocalCall } from "../../../src/cni/call.ts";
import { createLog } from "../../../src/lib/log/log.ts";
import { memoryFiles } from "../memory-files.ts";
import { type FakeClock, fakeClock } from "../time/fake-clock.ts";

/** What the call finds. */
export interface LocalWorld {
  readonly call: LocalCall;
  readonly clock: FakeClock;
  /** Texts of files by path; those of the plugin are in `/run/netplug`. */
  readonly files: Record<string, string | null>;
  /** Identities of network namespaces by path. */
  readonly namespaces: Record<string, string>;
  /** Milliseconds since the machine was started; the process began at 10 000. */
  now: number;
}

/** A call of `netplug` for interface `eth0` of container `c1` in the network `net`. */
export function createLocalWorld(netns?: string): LocalWorld {
  const clock = fakeClock();
  const files: Record<string, string | null> = {};
  const namespaces: Record<string, string> = {};
  const kernel = {
    openNetns: (path: string) => (namespaces[path] === undefined ? undefined : { path, id: namespaces[path], [Symbol.dispose]() {} }),
    isNamed: ({ path, id }: { readonly path: string; readonly id: string }) => namespaces[path] === id,
    openRouteSocket: () => ({ dump: () => [], [Symbol.dispose]() {} }),
  };
  const list = (folder: string): readonly string[] | undefined => {
    const names = Object.keys(files).flatMap((path) => (path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1)] : []));
    return names.length > 0 || files[folder] !== undefined ? names : undefined;
  };
  const host = {
    clock,
    random: () => 0,
    files: { ...memoryFiles(files), list },
    kernel,
    processId: 7,
    callerId: 6,
    takeLock: async () => ({ [Symbol.dispose]() {} }),
    sinceBoot: () => world.now,
    processStartSinceBoot: () => 10_000,
  };
  const call = {
    plugin: "netplug",
    environment: { containerID: "c1", ifName: "eth0", netns },
    args: {},
    config: { name: "net", ipamLockFile: "/run/netplug/ipam.lock", runFolder: "/run/netplug", policySetupTimeoutMs: 0 },
    host,
    log: createLog({ clock, level: "ERROR", sinks: [] }),
  } as unknown as LocalCall; // nothing else of it is used
  const world: LocalWorld = { call, clock, files, namespaces, now: 20_000 };
  return world;
}
