import { expect, test } from "bun:test";
import { systemClock } from "../../../lib/clock.ts";
import type { Files } from "../../../lib/ports.ts";
import { EtcdFailure, STATUS } from "../protocol/failure.ts";
import type { Target, Transport } from "../wire/transport.ts";
import { Access } from "./access.ts";

test("a request whose time is up when its log-in is done is not sent, and known not to be", async () => {
  const counts = { roundTrips: 0, retries: 0 };
  const access = new Access({ endpoints: [] }, { clock: systemClock, files: {} as Files }, counts);
  let isSent = false;
  const call = access.call("http://127.0.0.1:1", AbortSignal.abort(new Error("over")), async () => {
    isSent = true;
  });
  await expect(call).rejects.toMatchObject({ name: "EtcdFailure", reason: "unreachable", message: "over" });
  expect([isSent, counts.roundTrips]).toEqual([false, 0]);
});

test("a server that takes none of the tokens that it gives is not asked for ever", async () => {
  const paths: string[] = [];
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      paths.push(new URL(url).pathname);
      if (url.endsWith("/authenticate")) return Response.json({ token: "t" });
      return Response.json({ message: "etcdserver: invalid auth token", code: 16 }, { status: 401 });
    },
  });
  const config = { endpoints: [], username: "netplug", password: "secret" };
  const access = new Access(config, { clock: systemClock, files: {} as Files }, { roundTrips: 0, retries: 0 });
  const read = (transport: Transport, target: Target) => transport.read({ ranges: [{ key: "/netplug/" }] }, target);
  const call = access.call(`http://127.0.0.1:${server.port}`, AbortSignal.timeout(10_000), read);
  await expect(call).rejects.toMatchObject({ reason: "refused", message: "etcdserver: invalid auth token" });
  expect(paths).toHaveLength(6);
  access.close();
});

test.each([
  ["is sent again", 1, "done"],
  ["is not sent for ever", Infinity, "etcdserver: revision of auth store is old"],
])("a request of whom etcd knows by a certificate, refused because somebody changes users meanwhile, %s", async (_what, changes, end) => {
  const config = { endpoints: [], certFile: "/client.crt", keyFile: "/client.key" };
  const access = new Access(config, { clock: systemClock, files: {} as Files }, { roundTrips: 0, retries: 0 });
  let sent = 0;
  const call = access.call("http://127.0.0.1:1", AbortSignal.timeout(10_000), async () => {
    if (sent++ < changes) throw new EtcdFailure("refused", "etcdserver: revision of auth store is old", STATUS.invalidArgument);
    return "done";
  });
  expect(await call.catch(({ message }: EtcdFailure) => message)).toBe(end);
  expect(sent).toBeLessThan(4);
});
