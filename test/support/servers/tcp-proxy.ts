/** For tests: a TCP proxy that loses or delays replies when it is told to. */

import type { Socket, TCPSocketListener } from "bun";

/** What happens to the replies of the server. */
export type ReplyMode =
  | "pass"
  /** The request reaches the server; its reply is thrown away, and the client's connection closed. */
  | "drop"
  /** One reply is dropped; whoever asks again gets through. */
  | "drop-next"
  /** The reply is thrown away, and the client goes on waiting for it. */
  | "swallow"
  /** Something else comes in the place of one reply. */
  | "disturb-next"
  /** The client gets the reply at {@link TcpProxy.letGo}. */
  | "hold";

interface Link {
  peer: Socket<Link> | undefined;
  /** What came before the other side was connected. */
  readonly waiting: Uint8Array[];
  isLost: boolean;
  /** What came last from a client. */
  sent: string;
}

/** Passes connections on to a port of 127.0.0.1. */
export class TcpProxy implements Disposable {
  /** Where new connections go. */
  target: number;
  mode: ReplyMode = "pass";
  /** By how many milliseconds replies come late. */
  delayMs = 0;
  /** Resolves when a reply was dropped, disturbed or held for the first time. */
  readonly firstFault: Promise<void>;
  readonly #onFault: () => void;
  readonly #open = new Set<Socket<Link>>();
  readonly #held: (() => void)[] = [];
  readonly #server: TCPSocketListener<Link>;

  constructor(target: number) {
    this.target = target;
    ({ promise: this.firstFault, resolve: this.#onFault } = Promise.withResolvers<void>());
    this.#server = Bun.listen<Link>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (client) => {
          client.data = newLink();
          this.#open.add(client);
          this.#connect(client).catch(() => client.terminate());
        },
        data(client, chunk) {
          const { peer, waiting, isLost } = client.data;
          if (isLost) return;
          client.data.sent = chunk.toString("latin1");
          if (peer === undefined) waiting.push(chunk);
          else peer.write(chunk);
        },
        close: this.#forget,
        error: this.#forget,
      },
    });
  }

  get port(): number {
    return this.#server.port;
  }

  /** Passes on what is held, and what comes from now on. */
  letGo(): void {
    this.mode = "pass";
    for (const pass of this.#held.splice(0)) pass();
  }

  /** Closes all connections. */
  cut(): void {
    for (const socket of this.#open) socket.terminate();
    this.#open.clear();
  }

  /**
   * Loses the connections that exist as a power cut does: nobody hears of it.
   *
   * @param sent only those whose last request contains it
   */
  lose(sent = ""): void {
    for (const { data } of this.#open) {
      if (!data.sent.includes(sent)) continue;
      data.isLost = true;
      if (data.peer !== undefined) data.peer.data.isLost = true;
    }
  }

  [Symbol.dispose](): void {
    this.cut();
    this.#server.stop(true);
  }

  async #connect(client: Socket<Link>): Promise<void> {
    await Bun.connect<Link>({
      hostname: "127.0.0.1",
      port: this.target,
      data: newLink(client),
      socket: {
        open: (upstream) => {
          this.#open.add(upstream);
          client.data.peer = upstream;
          for (const chunk of client.data.waiting) upstream.write(chunk);
        },
        data: (upstream, chunk) => {
          if (!upstream.data.isLost) this.#reply(client, chunk);
        },
        close: this.#forget,
        error: this.#forget,
      },
    });
  }

  /** @param chunk its memory may be used again once this returns */
  #reply(client: Socket<Link>, chunk: Buffer): void {
    switch (this.mode) {
      case "pass":
        return this.#pass(client, chunk);
      case "swallow":
        return;
      case "hold": {
        const copy = Buffer.from(chunk);
        this.#held.push(() => client.write(copy));
        break;
      }
      case "disturb-next":
        this.mode = "pass";
        client.write("disturbed");
        break;
      case "drop-next":
        this.mode = "pass";
        client.end();
        break;
      case "drop":
        client.end();
    }
    this.#onFault();
  }

  #pass(client: Socket<Link>, chunk: Buffer): void {
    if (this.delayMs === 0) client.write(chunk);
    else setTimeout((copy: Uint8Array) => client.write(copy), this.delayMs, Buffer.from(chunk));
  }

  readonly #forget = (socket: Socket<Link>): void => {
    this.#open.delete(socket);
    socket.data?.peer?.end();
  };
}

function newLink(peer?: Socket<Link>): Link {
  return { peer, waiting: [], isLost: false, sent: "" };
}
