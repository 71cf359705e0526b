import { expect, test } from "bun:test";
import { startWrite } from "./background-write.ts";
import { Fd } from "./fd.ts";
import { NetlinkSocket } from "./netlink/socket.ts";
import { getLink } from "./netlink/link.ts";

test("a request that was started is answered as one that was waited for", () => {
  const open = Fd.openCount();
  {
    using socket = NetlinkSocket.open();
    const [waited] = socket.transact([getLink({ name: "lo" })]);
    const started = socket.start(getLink({ name: "lo" }));
    const outcome = started.finish();
    expect(outcome.error).toBeUndefined();
    expect(outcome.replies.map(({ type, payload }) => [type, payload.length])).toEqual(
      (waited?.replies ?? []).map(({ type, payload }) => [type, payload.length]),
    );
  }
  expect(Fd.openCount()).toBe(open);
});

test("a refusal is in the outcome, and the socket goes on", () => {
  using socket = NetlinkSocket.open();
  const { error } = socket.start(getLink({ name: "npg-not-there" })).finish();
  expect(error?.errnoName).toBe("ENODEV");
  expect(socket.transact([getLink({ name: "lo" })])[0]?.error).toBeUndefined();
});

test("a write to what cannot be written to fails when it is waited for", () => {
  const write = startWrite(-1, new Uint8Array([1]), "nothing");
  expect(() => write?.finish()).toThrow('write to "nothing": EBADF');
});
