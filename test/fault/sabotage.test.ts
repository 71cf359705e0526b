/** Whether these tests can fail: hosts that do not do what they say must be noticed. */

import { describe, expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import type { Datastore, Write } from "../../src/datastore/datastore.ts";
import type { RouteSocket } from "../../src/linux/netlink/route-socket.ts";
import { failEachStepOfAdd, failEachStepOfRemoval } from "./support/fail-runs.ts";
import { type Flow, HOST_LOCAL, NETPLUG, OTHER_MAIN } from "./support/flows.ts";
import { shareEtcd } from "./support/shared.ts";

const { startNode } = shareEtcd();

type Sabotage = (real: Host) => Host;

/** Says that it deleted interfaces. */
const keepsInterfaces: Sabotage = (real) => {
  const lazy = (socket: RouteSocket): RouteSocket => ({
    transact: (requests) =>
      requests.some(({ operation }) => operation === "delete interface")
        ? requests.map(() => ({ replies: [], error: undefined }))
        : socket.transact(requests),
    start: (request) =>
      request.operation === "delete interface" ? { finish: () => ({ replies: [], error: undefined }) } : socket.start(request),
    dump: (request) => socket.dump(request),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  });
  return { ...real, kernel: { ...real.kernel, openRouteSocket: (netns) => lazy(real.kernel.openRouteSocket(netns)) } };
};

/** Says that it committed. */
function forgets(isTarget: (write: Write) => boolean): Sabotage {
  return (real) => ({
    ...real,
    openDatastore: (...args) =>
      new Proxy(real.openDatastore(...args), {
        get(target, key) {
          const value: unknown = Reflect.get(target, key, target);
          if (key !== "commit") return typeof value === "function" ? value.bind(target) : value;
          const commit: Datastore["commit"] = (writes, options) =>
            target.commit(withRelated(writes.filter((write) => !isTarget(write))), options);
          return commit;
        },
      }),
  });
}

/** A commit without its changes is none. */
function withRelated(writes: readonly Write[]): readonly Write[] {
  return writes.filter(({ op }) => op !== "expect").length === 0 ? [] : writes;
}

const keepsRecords = forgets(({ op }) => op === "delete");
const keepsAddresses = forgets((write) => write.op === "update-block" && write.block.free.length > write.previous.value.free.length);

/** Answers a delegate's DEL by itself. */
const keepsDelegated: Sabotage = (real) => ({
  ...real,
  processes: {
    run: (request) =>
      request.env["CNI_COMMAND"] === "DEL" ? Promise.resolve({ status: 0, stdout: "", stderr: "" }) : real.processes.run(request),
  },
});

const CASES: readonly (readonly [string, Flow, Sabotage, RegExp])[] = [
  ["an interface that is not deleted", NETPLUG, keepsInterfaces, /host: interface/],
  ["an address that is not released", NETPLUG, keepsAddresses, /etcd: address of/],
  ["a record that is not deleted", HOST_LOCAL, keepsRecords, /etcd: key .*workloadendpoints/],
  ["a delegate's address that is not released", HOST_LOCAL, keepsDelegated, /host-local: /],
  ["an address under another main plugin that is not released", OTHER_MAIN, keepsAddresses, /etcd: address of/],
];

describe.each(CASES)("%s is noticed", (_, flow, sabotage, trace) => {
  test.concurrent("when an ADD fails", async () => {
    await using node = await startNode(flow);
    const { faults } = await failEachStepOfAdd(node, { isLasting: false, sabotage });
    expect(faults.join("\n")).toMatch(trace);
  });

  test.concurrent("when a DEL fails", async () => {
    await using node = await startNode(flow);
    const { faults } = await failEachStepOfRemoval(node, "DEL", { isLasting: false, sabotage });
    expect(faults.join("\n")).toMatch(trace);
  });
});
