/** A door on a node, between the plugin and the real API server, behind which single requests meet a fault. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { createCertificateFolder } from "../../support/servers/certificates.ts";
import type { ClusterFacts } from "./cluster.ts";
import { Daemon } from "../../support/daemons/daemon.ts";
import type { FaultPlan, Met, ProxyArguments } from "./fault-plan.ts";
import type { ClusterNode } from "./node.ts";

export interface NodeFaultProxy {
  /** As the node reaches it. */
  readonly url: string;
  readonly caFile: string;
  /** From now on this happens. */
  follow(plan: FaultPlan): Promise<void>;
  /** Of the plan that is followed. */
  met(): Promise<Met>;
  stop(): Promise<void>;
}

/** Everybody comes through it as who they are. */
export async function startNodeFaultProxy(node: ClusterNode, { url, api }: ClusterFacts): Promise<NodeFaultProxy> {
  const control = join(api.folder, "fault-proxy.sock");
  const authority = createCertificateFolder(api.folder).createAuthority("fault-proxy-ca");
  const port = 6443;
  const settings: ProxyArguments = { port, ...authority.issueServer("fault-proxy"), control, target: { url, caFile: api.caFile } };
  const tell = async (init: RequestInit = {}): Promise<Met> =>
    (await (await fetch("http://fault-proxy/", { unix: control, ...init })).json()) as Met;
  const daemon = new Daemon({
    name: "fault proxy",
    place: ["nsenter", `--net=/run/netns/${node.wire.netns}`],
    command: [process.execPath, join(import.meta.dir, "node-fault-proxy-program.ts"), JSON.stringify(settings)],
    logFile: join(api.folder, "fault-proxy.log"),
    cleaner: api.cleaner,
    isReady: async (signal) => (await tell({ signal })).reads >= 0,
  });
  await daemon.start();
  return {
    url: `https://127.0.0.1:${port}`,
    caFile: authority.certFile,
    follow: async (plan) => void (await tell({ method: "PUT", body: JSON.stringify(plan) })),
    met: tell,
    async stop() {
      await daemon.stop();
      rmSync(control, { force: true });
    },
  };
}
