/** An ADD that finds addresses of its attachment, loses them while it records them, gets others, and then fails. */

import { expect, test } from "bun:test";
import { NetworkPlace } from "../support/node/netns.ts";
import { mustNetplugctl } from "../support/cli/netplugctl.ts";
import { isCommit } from "./support/at-step.ts";
import { NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { findUnsafety } from "./support/judge.ts";
import { accessTo } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";
import { withSteps } from "./support/steps.ts";

const { startNode } = shareEtcd();

test("removes its interface before the addresses that it got last are free", async () => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  const { etcd } = node;
  const added = await node.call("ADD", { config: WITHOUT_WAIT });
  const addresses = (added.json?.ips ?? []).map(({ address }) => address.split("/")[0]);
  // what an ADD leaves that was killed between block and record, as it can be on the Kubernetes API
  new NetworkPlace(node.hostNetns).must(["ip", "link", "del", node.hostInterface]);
  const key =
    (await node.changes())
      .find((change) => change.includes("workloadendpoints"))
      ?.split(" ")
      .at(-1) ?? "";
  await etcd.ctl(["del", key]);
  const unsafe: string[] = [];
  let commits = 0;
  const failed = await node.call("ADD", {
    config: { policy_setup_timeout_seconds: 1 },
    host: (real) =>
      withSteps(real, (step, work) => {
        if (!isCommit(step)) return work.whole();
        const before = async (): Promise<void> => {
          // the commit of a late DEL
          if (++commits === 1) for (const ip of addresses) await mustNetplugctl(accessTo(etcd), ["ipam", "release", `--ip=${ip}`]);
        };
        return before()
          .then(() => work.whole())
          .then(async (outcome) => {
            unsafe.push(...findUnsafety(await node.changes()).map((one) => `after commit ${commits}: ${one}`));
            return outcome;
          });
      }),
  });
  expect([failed.json?.code, commits]).toEqual([110, expect.any(Number)]);
  expect(commits).toBeGreaterThan(2);
  expect(unsafe).toEqual([]);
  expect(await node.verify()).toEqual([]);
});
