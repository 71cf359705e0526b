/** For tests: what a call to a delegate needs, with real processes and files. */

import type { Delegate, DelegatePorts } from "../../../src/cni/delegate/mod.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { startDeadline } from "../../../src/lib/deadline.ts";
import { createLog } from "../../../src/lib/log/log.ts";
import type { LogRecord } from "../../../src/lib/log/log.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { linuxProcesses } from "../../../src/linux/processes.ts";

/** Real ports, with a log that is kept. */
export function delegatePorts(overrides: Partial<DelegatePorts> = {}): DelegatePorts & { readonly records: LogRecord[] } {
  const records: LogRecord[] = [];
  const log = createLog({ clock: systemClock, level: "DEBUG", sinks: [{ write: (record) => records.push(record) }] });
  return { processes: linuxProcesses, files: linuxFiles, clock: systemClock, log, records, ...overrides };
}

export interface CallOptions {
  readonly cniPath: string;
  /** @default 10000 */
  readonly timeoutMs?: number;
}

/** An ADD of `container-1`, with a network config of which `config` tells what matters. */
export function delegateCall(
  type: string,
  config: Readonly<Record<string, unknown>>,
  { cniPath, timeoutMs = 10_000 }: CallOptions,
): Delegate {
  return {
    type,
    config: { cniVersion: "1.0.0", name: "net", type: "netplug", ...config },
    environment: {
      PATH: "/usr/bin:/bin",
      CNI_COMMAND: "ADD",
      CNI_CONTAINERID: "container-1",
      CNI_NETNS: "/var/run/netns/none",
      CNI_IFNAME: "eth0",
      CNI_PATH: cniPath,
      // As a runtime may write it: plugins of the CNI project refuse the trailing ";" and a key that they do not know.
      CNI_ARGS: "K8S_POD_NAME=web;",
    },
    deadline: startDeadline(systemClock, timeoutMs),
    ports: delegatePorts(),
  };
}
