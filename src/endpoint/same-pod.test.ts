import { describe, expect, test } from "bun:test";
import type { Pod } from "../kube/core-types.ts";
import type { NetplugError } from "../lib/errors.ts";
import { requireSamePod } from "./same-pod.ts";

function pod(metadata: Pod["metadata"] = {}): Pod {
  return { metadata: { name: "web-0", namespace: "prod", uid: "u-1", ...metadata } };
}

describe("requireSamePod()", () => {
  const identity = (uid?: string) => ({ namespace: "prod", name: "web-0", ...(uid === undefined ? {} : { uid }) });

  test("takes the pod that the runtime means, and any when it names no UID", () => {
    expect(() => requireSamePod(pod(), identity("u-1"))).not.toThrow();
    expect(() => requireSamePod(pod(), identity())).not.toThrow();
  });

  test("knows a static pod by the UID that the kubelet gave it", () => {
    requireSamePod(pod({ annotations: { "kubernetes.io/config.mirror": "hash" } }), identity("hash"));
    expect(() => requireSamePod(pod({ annotations: { "kubernetes.io/config.mirror": "hash" } }), identity("u-1"))).toThrow("K8S_POD_UID");
  });

  test("refuses another pod of the same name with code 106", () => {
    try {
      requireSamePod(pod(), identity("u-2"));
      expect.unreachable();
    } catch (thrown) {
      expect((thrown as NetplugError).code).toBe(106);
      expect((thrown as NetplugError).message).toBe(
        'find pod "prod/web-0": its UID is "u-1", and K8S_POD_UID is "u-2"; it was deleted and made anew',
      );
    }
  });
});
