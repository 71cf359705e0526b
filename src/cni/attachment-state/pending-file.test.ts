import { expect, test } from "bun:test";
import { createLocalWorld } from "../../../test/support/calls/local-call.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { type PendingRelease, readPending, writePending } from "./pending-file.ts";

const FILE = "/run/netplug/unreleased/net@c1@eth0";
const PLACE = { path: "/run/netns/a", until: 5, id: "1" };
const ADDRESSES = [parseAddress("10.65.0.1"), parseAddress("fd65::1")];
const POD = { namespace: "shop", name: "web-0" };

test.each<[what: string, text: string, pending: PendingRelease]>([
  ["neither addresses nor a pod", "/run/netns/a\n5\n1\n", { ...PLACE, addresses: [] }],
  ["addresses", "/run/netns/a\n5\n1\n10.65.0.1 fd65::1", { ...PLACE, addresses: ADDRESSES }],
  ["a pod", "/run/netns/a\n5\n1\n\nshop/web-0", { ...PLACE, addresses: [], pod: POD }],
  ["both", "/run/netns/a\n5\n1\n10.65.0.1 fd65::1\nshop/web-0", { ...PLACE, addresses: ADDRESSES, pod: POD }],
])("a file with %s reads as it was written", (_what, text, pending) => {
  const { call, files } = createLocalWorld();
  writePending(call, pending);
  expect(files[FILE]).toBe(text);
  expect(readPending(call)).toEqual(pending);
});

test("a file of a version that knew no addresses is read", () => {
  const { call, files } = createLocalWorld();
  files[FILE] = "/run/netns/a\n5\n1";
  expect(readPending(call)).toEqual({ ...PLACE, addresses: [] });
});
