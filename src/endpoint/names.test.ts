import { describe, expect, test } from "bun:test";
import { parseAlias, toAlias, toEndpointName, toHostName, type Workload } from "./names.ts";

const pod = (namespace: string, name: string, ifName = "eth0"): Workload => ({ containerID: "c1", ifName, pod: { namespace, name } });

describe("toHostName()", () => {
  // Digits as an independent SHA-1 (coreutils sha1sum) gives them.
  test.each([
    ["namespace", "podname", "npg82111e10a96"],
    ["default", "podA", "npg7f94ce7c295"],
    ["kube-system", "coredns-7db6d8ff4d-abcde", "npgf90c21019df"],
  ])("of pod %p/%p is %p", (namespace, name, expected) => {
    expect(toHostName(pod(namespace, name))).toBe(expected);
  });

  test("of a second interface differs from that of the first", () => {
    expect(toHostName(pod("default", "podA", "net1"))).not.toBe(toHostName(pod("default", "podA")));
  });

  test("of a container without a pod comes from the container ID", () => {
    const workload: Workload = { containerID: "abc", ifName: "eth0", pod: undefined };
    expect(toHostName(workload)).toBe("npga9993e36470");
    expect(toHostName(workload)).toHaveLength(14);
  });
});

describe("toEndpointName()", () => {
  test("doubles every dash inside a part", () => {
    const workload: Workload = { containerID: "x", ifName: "eth0", pod: { namespace: "default", name: "pod-name" } };
    expect(toEndpointName("node-1", workload)).toBe("node--1-k8s-pod--name-eth0");
  });

  test("of a container without a pod carries the container ID", () => {
    const workload: Workload = { containerID: "abcdefa0123456", ifName: "eth0", pod: undefined };
    expect(toEndpointName("node-1", workload)).toBe("node--1-cni-abcdefa0123456-eth0");
  });
});

test("toAlias() names network, container and interface", () => {
  expect(toAlias("k8s-pod-network", { containerID: "c1", ifName: "eth0" })).toBe("netplug:k8s-pod-network:c1:eth0");
});

test("parseAlias() reads what toAlias() writes, and nothing else", () => {
  const parts = { network: "k8s-pod.network_1", containerID: "c1.x-2", ifName: "eth0" };
  expect(parseAlias(toAlias(parts.network, parts))).toEqual(parts);
  for (const alias of ["", "netplug", "netplug:a:b", "netplug:a:b:c:d", "netplug:::", "other:a:b:c", " netplug:a:b:c"]) {
    expect(parseAlias(alias)).toBeUndefined();
  }
});
