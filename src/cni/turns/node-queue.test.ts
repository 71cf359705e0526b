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

test("of those who wait only they are served who hold their attachments, on this node, and who was served is told", () => {
  const { call, files } = createLocalWorld();
  const ofNode = { ...call, node: "n1", datastoreKey: () => "etcd" } as Call; // nothing else of it is used
  const textOf = (containerID: string, node: string): string => {
    const request = requestFor(containerID, node);
    return toRequestText({ ...request, owner: { ...request.owner, ...ATTACHMENT, containerID } }, "etcd");
  };
  const waiting = [
    { place: "1", text: textOf("c1", "n1") },
    { place: "2", text: textOf("c2", "n1") },
    { place: "3", text: textOf("c3", "n2") },
  ];
  for (const name of ["c2", "c3"]) files[`/run/netplug/attached/other@${name}@net1`] = "";
  const told: unknown[] = [];
  {
    using queue = openNodeQueue(ofNode, { read: () => waiting, tellServed: (served) => told.push(...served) });
    queue.tellServed(queue.requests());
  }
  expect(told).toEqual([waiting[1]]);
  expect(Object.keys(files).filter((path) => path.includes("unreleased"))).toEqual([]);
});
