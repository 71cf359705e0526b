import { afterEach, expect, test } from "bun:test";
import { parseAddress } from "../lib/ip/address.ts";
import { Fd } from "./fd.ts";
import { connectTcp } from "./tcp.ts";

const servers: { stop(force: boolean): void }[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.stop(true);
});

interface Peer {
  write(bytes: Uint8Array | string): number;
  end(): void;
}

/** A server in this process: what it sends arrives when the event loop runs. */
function listen(hostname: string, onData: (peer: Peer, bytes: Uint8Array) => void): number {
  const server = Bun.listen({ hostname, port: 0, socket: { data: onData } });
  servers.push(server);
  return server.port;
}

async function readAll(stream: ReturnType<typeof connectTcp>): Promise<string> {
  let text = "";
  for (;;) {
    const bytes = stream.read(1);
    if (bytes?.length === 0) return text;
    text += new TextDecoder().decode(bytes);
    await Bun.sleep(0);
  }
}

test.each(["127.0.0.1", "::1"])("what is written to %s comes back, in order and whole", async (address) => {
  const port = listen(address, (peer, bytes) => {
    peer.write(bytes);
    peer.end();
  });
  const open = Fd.openCount();
  {
    using stream = connectTcp(parseAddress(address), port);
    expect(stream.write(new TextEncoder().encode("good morning"), 1000)).toBe(12);
    expect(await readAll(stream)).toBe("good morning");
  }
  expect(Fd.openCount()).toBe(open);
});

test("nothing yet is undefined, after the wait and not before", () => {
  const port = listen("127.0.0.1", () => undefined);
  using stream = connectTcp(parseAddress("127.0.0.1"), port);
  const started = performance.now();
  expect(stream.read(30)).toBeUndefined();
  expect(performance.now() - started).toBeGreaterThanOrEqual(29);
});

test("a port where nobody listens is refused, and no descriptor stays open", () => {
  const open = Fd.openCount();
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const { port } = server;
  server.stop(true);
  const attempt = (): void => {
    using stream = connectTcp(parseAddress("127.0.0.1"), port);
    stream.read(1000);
  };
  expect(attempt).toThrow("ECONNREFUSED (connection refused)");
  expect(Fd.openCount()).toBe(open);
});
