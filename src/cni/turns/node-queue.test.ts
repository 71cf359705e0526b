import { expect, test } from "bun:test";
import { requestFor } from "../../../test/support/ipam/ipam.ts";
import { createLocalWorld } from "../../../test/support/calls/local-call.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import type { Call } from "../call.ts";
import { openNodeQueue } from "./node-queue.ts";
import { toRequestText } from "./request-text.ts";

/** Nothing of it is the call's own. */
const ATTACHMENT = { network: "other", containerID: "c2", ifName: "net1" };
const ATTACHED = "/run/netplug/attached/other@c2@net1";
const UNRELEASED = "/run/netplug/unreleased/other@c2@net1";

test("what was allocated for an attachment that a DEL has ended is looked for as long as the commit may arrive", () => {
  const { call, clock, files } = createLocalWorld();
  const request = requestFor("c2", "n1");
  const text = toRequestText({ ...request, owner: { ...request.owner, ...ATTACHMENT } }, "etcd");
  const ofNode = { ...call, node: "n1", datastoreKey: () => "etcd" } as Call; // nothing else of it is used
  files[ATTACHED] = "";
  {
    using queue = openNodeQueue(ofNode, { read: () => [{ place: "1", text }], tellServed() {} });
    expect(queue.requests()).toHaveLength(1);
    delete files[ATTACHED];
  }
  expect(files).toEqual({ [UNRELEASED]: `\n${clock.now() + LONGEST_ADD_MS}\n\n` });
});
