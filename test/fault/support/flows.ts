/** The ways in which a runtime gets addresses from us, or through us. */

import type { PluginName } from "../../../src/cni/call.ts";
import { cniPluginsFolder } from "../../support/programs/cni.ts";
import type { Json } from "../../support/programs/cni-call.ts";

/** What a network config is made from. */
export interface FlowFacts {
  readonly folder: string;
  /** URL of a server that is a readiness gate, and the Kubernetes API for one pod. */
  readonly server: string;
  readonly pools: { readonly 4: string; readonly 6: string };
  /** Makes the ranges of `host-local` differ. */
  readonly number: number;
}

export interface Flow {
  readonly name: string;
  /** Which of our plugins is called. */
  readonly plugin: PluginName;
  /** Another plugin that a runtime calls, which calls ours; it has no GC. */
  readonly mainPlugin: string | undefined;
  /** Whether the addresses come from our own address management. */
  readonly hasOwnIpam: boolean;
  /** Whether an ADD waits for a gate and for policy. */
  readonly waits: boolean;
  /** `CNI_ARGS` of the pod that things happen to. */
  readonly args?: string;
  readonly config: (facts: FlowFacts) => Json;
}

/** The pod that the Kubernetes API knows. */
export const KUBERNETES_POD = { namespace: "shop", name: "web-0", uid: "2f5b1c1e-6a53-4a0e-9d0c-1d9f6a3f7b11" } as const;

/** Keys of a network config: nobody programs policy for this ADD. */
export const WITHOUT_WAIT = { policy_setup_timeout_seconds: 0 } as const;

const DUAL_STACK = { assign_ipv4: "true", assign_ipv6: "true" };

/** `netplug` with `netplug-ipam`: everything in one process, with a readiness gate and the policy wait. */
export const NETPLUG: Flow = {
  name: "netplug with netplug-ipam",
  plugin: "netplug",
  mainPlugin: undefined,
  hasOwnIpam: true,
  waits: true,
  config: ({ folder, server, pools }) => ({
    type: "netplug",
    ipam: { type: "netplug-ipam", ...DUAL_STACK, ipv4_pools: [pools[4]], ipv6_pools: [pools[6]] },
    readiness_gates: [server],
    policy_setup_timeout_seconds: 20,
    policy_setup_timeout_action: "fail",
    endpoint_status_dir: `${folder}/endpoint-status`,
  }),
};

/** `netplug` with addresses of another IPAM plugin. */
export const HOST_LOCAL: Flow = {
  name: "netplug with host-local",
  plugin: "netplug",
  mainPlugin: undefined,
  hasOwnIpam: false,
  waits: false,
  config: ({ folder, number }) => ({
    type: "netplug",
    ipam: {
      type: "host-local",
      dataDir: `${folder}/host-local`,
      ranges: [[{ subnet: `10.77.${number}.0/28` }], [{ subnet: `fd77:${number}::/124` }]],
    },
  }),
};

/** `netplug-ipam` under another main plugin, whose links are not ours. */
export const OTHER_MAIN: Flow = {
  name: "netplug-ipam under ptp",
  plugin: "netplug-ipam",
  mainPlugin: `${cniPluginsFolder}/ptp`,
  hasOwnIpam: true,
  waits: false,
  config: ({ pools }) => ({
    type: "ptp",
    ipam: { type: "netplug-ipam", ...DUAL_STACK, ipv4_pools: [pools[4]], ipv6_pools: [pools[6]] },
  }),
};

/** `netplug-ipam` without the plugin that calls it: as when that was killed, and since it would refuse a second ADD by itself. */
export const IPAM_ALONE: Flow = { ...OTHER_MAIN, name: "netplug-ipam", mainPlugin: undefined };

/** `netplug` for a pod that the Kubernetes API tells of; all that is written is in etcd. */
export const KUBERNETES: Flow = {
  ...NETPLUG,
  name: "netplug for a pod of Kubernetes",
  waits: false,
  args: `K8S_POD_NAMESPACE=${KUBERNETES_POD.namespace};K8S_POD_NAME=${KUBERNETES_POD.name};K8S_POD_UID=${KUBERNETES_POD.uid}`,
  config: (facts) => ({
    ...NETPLUG.config(facts),
    ...WITHOUT_WAIT,
    policy: { type: "k8s" },
    kubernetes: { k8s_api_root: facts.server },
  }),
};

export const FLOWS: readonly Flow[] = [NETPLUG, HOST_LOCAL, OTHER_MAIN];

/** Those in which we make the interface. */
export const OWN_LINK_FLOWS: readonly Flow[] = [NETPLUG, HOST_LOCAL];
