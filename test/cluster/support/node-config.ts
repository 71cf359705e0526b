/** Configuration of containerd, the kubelet and kube-proxy, for a node without a registry, systemd or much of a machine. */

import { clusterVersion } from "../../../tools/prerequisites/cluster-programs.ts";
import type { Json } from "../../support/programs/cni-call.ts";

/** What containerd runs for a pod's namespaces. */
export const PAUSE_IMAGE = "localhost/pause:1";
/** A static busybox; without a command it waits, and ends when asked to. */
export const BUSYBOX_IMAGE = "localhost/busybox:1";
/** `native` copies every image for every container: only where overlays cannot be. */
export const SNAPSHOTTERS: readonly string[] = ["overlayfs", "native"];

/** For containerd 2, in version 3 of the format. */
export function containerdConfig(snapshotter: string): string {
  return `version = 3
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"]
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "${snapshotter}"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "${PAUSE_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/opt/cni/bin"]
    conf_dir = "/etc/cni/net.d"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
`;
}

export const KUBE_PROXY_HEALTH_PORT = 10_256;

/** Folder on a node whose files are pods. */
export const STATIC_PODS = "/var/lib/kubelet/manifests";

/** A KubeletConfiguration; JSON is accepted as well as YAML. */
export function kubeletConfig(): Readonly<Record<string, unknown>> {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    // no tree of its own for classes of service
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    localStorageCapacityIsolation: false,
    // nobody could bring an image back that was collected
    imageGCHighThresholdPercent: 100,
    evictionHard: { "nodefs.available": "1%", "imagefs.available": "1%" },
    volumePluginDir: "/var/lib/kubelet/volumeplugins",
    staticPodPath: STATIC_PODS,
    resolvConf: "",
    // nobody answers there; without one every pod gets a warning
    clusterDNS: ["10.96.0.10"],
    maxPods: 250,
    nodeStatusUpdateFrequency: "5s",
    // the node is looked at here, not the clients' manners
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
    eventRecordQPS: 0,
    registryPullQPS: 0,
  };
}

/** A KubeProxyConfiguration, as JSON. @param network what kube-proxy has to know of it */
export function kubeProxyConfig(nodeName: string, kubeconfig: string, network: Json): Json {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    // that of 1.31 programs nothing in mode nftables where it is told of interfaces: https://github.com/kubernetes/kubernetes/pull/134024
    mode: clusterVersion().startsWith("1.31.") ? "iptables" : "nftables",
    hostnameOverride: nodeName,
    clientConnection: { kubeconfig },
    // a node that has IPv6 addresses only has this one, too
    healthzBindAddress: `127.0.0.1:${KUBE_PROXY_HEALTH_PORT}`,
    // the machine's own number, which no network namespace but the first may change
    conntrack: { maxPerCore: 0 },
    ...network,
  };
}
