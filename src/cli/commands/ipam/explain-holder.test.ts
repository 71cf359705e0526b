import { expect, test } from "bun:test";
import type { AskingPod } from "../../kubernetes/asking-pod.ts";
import type { Asking } from "./explain-asking.ts";
import { warnOfHolders } from "./explain-holder.ts";

/** Whether a pod that has the address is taken for one of the workload that asks for it. */
function isTakenForOwn(kind: string, name: string, pod: string, namespace = "default"): boolean {
  const workload = { kind, name: `default/${name}`, hasSeveral: false, isEndingFirst: true };
  const asking = { node: "n1", isOnKubernetes: true } as Asking;
  const holder = { network: "pods", containerID: "c1", ifName: "eth0", node: "n1", namespace, pod };
  return warnOfHolders({ workload } as AskingPod, asking, [holder]).length > 0;
}

const long = (length: number): string => "shop-".repeat(20).slice(0, length).replace(/-$/, "x");

// A real API server was seen to drop what a `generateName` has behind its first 58 characters.
test.each([
  ["Deployment", "web", "web-5d8f7c9b6d-rcctk"],
  ["Deployment", long(45), `${long(45)}-5d8f7c9b6d-rcctk`],
  ["Deployment", long(46), `${long(46)}-5d8f7c9b6d-rcctk`],
  ["Deployment", long(47), `${long(47)}-5d8f7c9b6drcctk`],
  ["Deployment", long(50), `${long(50)}-5d8f7c9rcctk`],
  ["Deployment", long(57), `${long(57)}-rcctk`],
  ["Deployment", long(63), `${long(63).slice(0, 58)}rcctk`],
  ["DaemonSet", long(57), `${long(57)}-68g5p`],
  ["Job", long(58), `${long(58)}68g5p`],
  ["ReplicaSet", long(63), `${long(63).slice(0, 58)}68g5p`],
])("of %s %s is %s, of which so much is left as the API server takes", (kind, name, pod) => {
  expect(pod.length).toBeLessThanOrEqual(63);
  expect(isTakenForOwn(kind, name, pod)).toBe(true);
  expect(isTakenForOwn(kind, name, pod, "other")).toBe(false);
});

test.each([
  ["Deployment", "web", "web-rcctk"],
  ["Deployment", "web", "web-5d8f7c9b6drcctk"],
  ["Deployment", long(50), `${long(50)}-5d8f7crcctk`],
  ["Deployment", long(50), `${long(50)}-aeiouaercctk`],
  ["Deployment", long(31), `${long(58)}rcctk`],
  ["Job", "web", "webrcctk"],
  ["Job", long(51), `${long(58)}68g5p`],
  ["ReplicaSet", long(63), `${long(57)}68g5p`],
  ["StatefulSet", "web", "web-rcctk"],
])("of %s %s is not %s", (kind, name, pod) => {
  expect(isTakenForOwn(kind, name, pod)).toBe(false);
});
