/** For tests: a cluster of which one member stands in a network namespace of its own, where its way to the others can be cut. */

import type { EtcdServer } from "../support/servers/etcd.ts";
import { startEtcdCluster } from "../support/servers/etcd.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";

export interface IsolatedMember extends AsyncDisposable {
  readonly isolated: EtcdServer;
  readonly others: readonly EtcdServer[];
  /** No message to or from the others passes; clients are served as before. */
  cutOff(): void;
}

/** Only one at a time in a process. @param args more of each member */
export async function startIsolatedMember(heartbeatMs: number, args: readonly string[]): Promise<IsolatedMember> {
  const netns = new TestNetns();
  const link = `npgt${process.pid}`;
  const subnet = `169.254.${(process.pid >> 6) & 255}.${(process.pid & 63) * 4}`;
  const [here, there] = [1, 2].map((host) => subnet.replace(/\d+$/, (last) => String(Number(last) + host))) as [string, string];
  nodePlace.must(["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", netns.netns]);
  nodePlace.must(["ip", "address", "add", `${here}/30`, "dev", link]);
  nodePlace.must(["ip", "link", "set", link, "up"]);
  netns.must(["ip", "address", "add", `${there}/30`, "dev", "eth0"]);
  for (const ifname of ["lo", "eth0"]) netns.must(["ip", "link", "set", ifname, "up"]);

  const outside = { address: here, prefix: [] };
  const hosts = [{ address: there, prefix: ["ip", "netns", "exec", netns.netns] }, outside, outside];
  const [isolated, ...others] = await startEtcdCluster(3, { quick: true, heartbeatMs, hosts, args });
  if (isolated === undefined) throw new Error("start etcd: no member");
  // Every message between members comes from one of these ports or goes to one. Those that arrive must be stopped too: what the others still send,
  // unacknowledged, would give the member a leader back after it had lost it.
  const ports = [isolated, ...others].map(({ peerPort }) => peerPort).join(", ");
  const chains = ["input", "output"].map(
    (hook) => `chain ${hook} { type filter hook ${hook} priority 0; tcp sport { ${ports} } drop; tcp dport { ${ports} } drop; }`,
  );
  return {
    isolated,
    others,
    cutOff() {
      netns.must(["nft", "-f", "-"], ["table inet cut {", ...chains, "}", ""].join("\n"));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([isolated, ...others].map((member) => member[Symbol.asyncDispose]()));
      nodePlace.must(["ip", "link", "delete", link]);
      netns[Symbol.dispose]();
    },
  };
}
