/** What a delegate holds, and what a record of ours says of it. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import { realHost } from "../../src/cni/real-host.ts";
import type { Datastore, Write } from "../../src/datastore/datastore.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { pendingReleasesOf } from "../support/node/pending-releases.ts";
import { HOST_LOCAL } from "./support/flows.ts";
import { findIncompleteness } from "./support/judge.ts";
import type { FaultNode } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";

const { startNode } = shareEtcd();

/** The first commit is kept instead of sent, and from then on etcd is away. */
function withLateCommit(): { readonly host: (real: Host) => Host; readonly apply: (node: FaultNode) => Promise<void> } {
  let late: readonly Write[] = [];
  const away = (): Promise<never> => Promise.reject(new OutcomeUnknown("test: no answer"));
  return {
    host: (real) => ({
      ...real,
      openDatastore: (...args) =>
        new Proxy(real.openDatastore(...args), {
          get(target, key) {
            const commit: Datastore["commit"] = (writes) => ((late = writes), away());
            if (key === "commit") return commit;
            if (key === "read" && late.length > 0) return away;
            const value: unknown = Reflect.get(target, key, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        }),
    }),
    async apply(node) {
      const datastore = realHost().openDatastore({ type: "etcdv3", etcd: { endpoints: [node.etcd.endpoint] } });
      expect((await datastore.commit(late)).committed).toBe(true);
      datastore.close();
    },
  };
}

test.concurrent("a record that comes late, when its addresses are released already, is not believed", async () => {
  await using node = await startNode(HOST_LOCAL);
  const { host, apply } = withLateCommit();
  expect((await node.call("ADD", { host })).json?.code).toBe(11);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.changes()).toEqual([]);
  await apply(node);
  const added = await node.call("ADD");
  expect(findIncompleteness(HOST_LOCAL, added, await node.changes())).toEqual([]);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});

test.concurrent.each([
  ["that reaches its datastore", {}, 0],
  ["whose network config names no usable datastore", { etcd_endpoints: "ftp://127.0.0.1" }, 1],
])("a DEL %s notes no release of what only the delegate can release, whatever became of the ADD", async (_which, config, status) => {
  await using node = await startNode(HOST_LOCAL);
  expect((await node.call("ADD", { host: withLateCommit().host })).json?.code).toBe(11);
  // As if it was killed before its undo.
  rmSync(join(node.folder, "unreleased"), { recursive: true });
  expect((await node.call("DEL", { config })).status).toBe(status);
  expect([node.isHeld(), pendingReleasesOf(node)]).toEqual([false, []]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("an interface that somebody deleted is made again with the addresses that the delegate still holds", async () => {
  await using node = await startNode(HOST_LOCAL);
  const added = await node.call("ADD");
  node.pod.must(["ip", "link", "del", "eth0"]);
  const again = await node.call("ADD");
  expect(again.json?.ips).toEqual(added.json?.ips ?? []);
  expect(findIncompleteness(HOST_LOCAL, again, await node.changes())).toEqual([]);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});
