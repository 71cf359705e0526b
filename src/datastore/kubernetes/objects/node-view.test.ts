import { expect, test } from "bun:test";
import { silentSince } from "../../../api/silent-node.ts";
import type { Node } from "../../../kube/core-types.ts";
import { toStoredNode } from "./node-view.ts";

const SINCE = "2026-01-02T03:04:05Z";

/** @param annotated what somebody wrote into the node's annotations */
function silenceOf(status: string | undefined, annotated?: string): string | undefined {
  const annotations = annotated === undefined ? {} : { "netplug.io/silent-since": annotated };
  const conditions = status === undefined ? [] : [{ type: "Ready", status, lastTransitionTime: SINCE }];
  const node: Node = { metadata: { name: "n1", resourceVersion: "7", annotations }, status: { conditions } };
  return silentSince(toStoredNode(node).value);
}

test("a node is silent when its ready is unknown, and whatever somebody writes there says nothing of it", () => {
  expect(["Unknown", "True", "False", undefined].map((status) => silenceOf(status))).toEqual([SINCE, undefined, undefined, undefined]);
  expect(["Unknown", "True", "False", undefined].map((status) => silenceOf(status, "ever"))).toEqual([
    SINCE,
    undefined,
    undefined,
    undefined,
  ]);
});
