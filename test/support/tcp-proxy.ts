/** For tests: a TCP proxy that loses or delays replies when it is told to. */

import type { Socket } from "bun";

/** What happens to the replies of the server. */
export type ReplyMode =
  | "pass"
  /** The request reaches the server; its reply is thrown away and the client's connection closed. */
  | "drop"
  /** So it goes with one reply; whoever asks again gets through. */
  | "drop-next"
  /** The reply is thrown away, and the client goes on waiting for it. */
  | "swallow"
  /** The client gets the reply when the proxy is told to let go. */
  | "hold";

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** The port of 127.0.0.1 that new connections are passed on to. */
  target: number;
  mode: ReplyMode;
  /** By how many milliseconds replies come late. @default 0 */
  delayMs: number;
  /** Resolves when a reply was lost, or held, for the first time. */
  readonly dropped: Promise<void>;
  /** Passes on what is held, and what comes from now on. */
  letGo(): void;
  /** Closes all connections. */
  cut(): void;
  /** Loses the connections that exist as a power cut does: nobody hears of it. */
  lose(): void;
}

interface Link {
  peer: Socket<Link> | undefined;
  /** What came before the other side was connected. */
  waiting: Uint8Array[];
  isLost: boolean;
}

/** Passes connections on to a port of 127.0.0.1. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const open = new Set<Socket<Link>>();
  const dropped = Promise.withResolvers<void>();
  const held: (() => void)[] = [];
  const forget = (socket: Socket<Link>): void => {
    open.delete(socket);
    socket.data?.peer?.end();
  };
  /** What becomes of a piece of a reply, whose memory may be used again once this returns. */
  const onReply = (client: Socket<Link>, chunk: Buffer): void => {
    if (proxy.mode === "pass") {
      if (proxy.delayMs === 0) client.write(chunk);
      else setTimeout((copy: Uint8Array) => client.write(copy), proxy.delayMs, Buffer.from(chunk));
    } else if (proxy.mode === "hold") {
      const copy = Buffer.from(chunk);
      held.push(() => client.write(copy));
      dropped.resolve();
    } else if (proxy.mode !== "swallow") {
      if (proxy.mode === "drop-next") proxy.mode = "pass";
      client.end();
      dropped.resolve();
    }
  };
  const connectUpstream = (client: Socket<Link>): Promise<unknown> =>
    Bun.connect<Link>({
      hostname: "127.0.0.1",
      port: proxy.target,
      data: { peer: client, waiting: [], isLost: false },
      socket: {
        open(upstream) {
          open.add(upstream);
          client.data.peer = upstream;
          for (const chunk of client.data.waiting) upstream.write(chunk);
        },
        data(upstream, chunk) {
          if (!upstream.data.isLost) onReply(client, chunk);
        },
        close: forget,
        error: forget,
      },
    });
  const server = Bun.listen<Link>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(client) {
        client.data = { peer: undefined, waiting: [], isLost: false };
        open.add(client);
        void connectUpstream(client).catch(() => client.terminate());
      },
      data(client, chunk) {
        if (client.data.isLost) return;
        if (client.data.peer === undefined) client.data.waiting.push(chunk);
        else client.data.peer.write(chunk);
      },
      close: forget,
      error: forget,
    },
  });
  const proxy: TcpProxy = {
    port: server.port,
    target: targetPort,
    mode: "pass",
    delayMs: 0,
    dropped: dropped.promise,
    letGo() {
      proxy.mode = "pass";
      for (const pass of held.splice(0)) pass();
    },
    cut() {
      for (const socket of open) socket.terminate();
      open.clear();
    },
    lose() {
      for (const socket of open) socket.data.isLost = true;
    },
    async [Symbol.asyncDispose]() {
      proxy.cut();
      server.stop(true);
    },
  };
  return proxy;
}
