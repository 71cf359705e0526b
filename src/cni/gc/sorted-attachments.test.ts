import { expect, test } from "bun:test";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import type { Attachment } from "../../ipam/request.ts";
import { SortedAttachments } from "./sorted-attachments.ts";

const VALID: Attachment = { containerID: "valid", ifName: "eth0" };
const FOUND: Attachment = { containerID: "found", ifName: "eth0" };

/** A GC for which one attachment is valid. */
function createWorld(): LocalWorld {
  const world = createLocalWorld();
  Object.assign(world.call.config, { validAttachments: [VALID] });
  Object.assign(world.call.host, { clock: { ...world.clock, monotonic: () => world.now - 10_000 }, processStart: () => 0 });
  return world;
}

/** An ADD takes hold now. */
function takeHold({ files, now }: LocalWorld, { containerID, ifName }: Attachment): void {
  files[`/run/netplug/attached/net@${containerID}@${ifName}`] = `/run/netns/a\n1\nnetplug\n${now}\n2\n3`;
}

test("a GC keeps what is valid, and what it could not remove", () => {
  const attachments = new SortedAttachments(createWorld().call);
  expect([attachments.lookAt(VALID), attachments.lookAt(FOUND)]).toEqual(["kept", "stale"]);
  attachments.keep(FOUND);
  expect(attachments.lookAt(FOUND)).toBe("kept");
  expect(attachments.kept).toEqual([VALID, FOUND]);
});

test("a GC keeps what an ADD takes hold of beside it, also once it was about to remove that, and after the ADD has ended", () => {
  const world = createWorld();
  const attachments = new SortedAttachments(world.call);
  attachments.addStale(FOUND);
  expect(attachments.isStale(FOUND)).toBe(true);
  takeHold(world, FOUND);
  expect(attachments.isAnyAddUnderWay()).toBe(true);
  attachments.lookForNewcomers();
  delete world.files["/run/netplug/attached/net@found@eth0"];
  expect([attachments.lookAt(FOUND), attachments.stale, attachments.kept.length]).toEqual(["kept", [], 2]);
});

test("a GC removes nothing more of what it leaves to the next one", () => {
  const attachments = new SortedAttachments(createWorld().call);
  attachments.addStale(FOUND);
  attachments.leaveToNextGc(FOUND);
  expect([attachments.stale, attachments.isStale(FOUND), attachments.lookAt(FOUND)]).toEqual([[], false, "stale"]);
});
