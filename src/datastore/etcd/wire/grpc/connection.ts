/**
 * gRPC over `node:http2`. `fetch` loads 5 ms faster and does not do: it shows no trailers, where etcd puts the reason of a refusal, and
 * has no HTTP/2 without TLS.
 */

import http2 from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { EtcdFailure, STATUS } from "../../protocol/failure.ts";
import { toFailure } from "../fetch-failure.ts";
import { toTlsOptions } from "../sessions.ts";
import type { Target, TlsMaterial } from "../transport.ts";
import { FrameReader, toFrame } from "./frame.ts";

/** What streams must know of their session. */
interface SessionState {
  /** Why it ended: the error of a stream does not say it. */
  thrown: unknown;
  /** Whether a reply has come: an error after that is no handshake that failed. */
  hasReplied: boolean;
}

/** A connection to the endpoint that was asked last; made again when it ends. */
export class Connection {
  #session: ClientHttp2Session | undefined;
  #state: SessionState = { thrown: undefined, hasReplied: false };
  #endpoint: string | undefined;
  #tls: TlsMaterial | undefined;

  /** Sends one message and waits for the one that answers it. @throws EtcdFailure */
  async unary(method: string, message: Uint8Array, target: Target): Promise<Uint8Array> {
    let reply: Uint8Array | undefined;
    // To the end: what makes a reply valid is the status that follows it.
    for await (const received of this.stream(method, [message], target, true)) reply = received;
    if (reply === undefined) throw new EtcdFailure("lost", "the reply is empty");
    return reply;
  }

  /**
   * Sends messages and gives those that come back.
   *
   * @param ends whether nothing follows what is sent; a server ends a stream when its client does
   * @throws EtcdFailure
   */
  async *stream(method: string, messages: readonly Uint8Array[], target: Target, ends: boolean): AsyncIterable<Uint8Array> {
    target.signal.throwIfAborted();
    const session = this.#connect(target);
    const headers = { ":method": "POST", ":path": method, "content-type": "application/grpc", te: "trailers", hasleader: "true" };
    const stream = session.request(target.token === undefined ? headers : { ...headers, token: target.token });
    const onAbort = (): void => void stream.destroy(target.signal.reason);
    stream.on("error", () => undefined); // Whoever reads hears of it; after that nobody needs to.
    target.signal.addEventListener("abort", onAbort);
    let isAnswered = false;
    try {
      for (const message of messages) stream.write(toFrame(message));
      if (ends) stream.end();
      // A reader that stops early thereby destroys the stream, which cancels it at the server.
      for await (const message of readStream(stream, this.#state)) {
        isAnswered = true;
        yield message;
      }
    } finally {
      // Nothing came in time: this connection may be dead, so the next request makes a new one.
      if (target.signal.aborted && (ends || !isAnswered)) this.close();
      target.signal.removeEventListener("abort", onAbort);
    }
  }

  close(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  #connect({ endpoint, tls }: Target): ClientHttp2Session {
    const current = this.#session;
    const isUsable = current !== undefined && !current.closed && !current.destroyed;
    if (isUsable && endpoint === this.#endpoint && tls === this.#tls) return current;
    this.close();
    const session = openSession(endpoint, tls);
    const state: SessionState = { thrown: undefined, hasReplied: false };
    session.on("error", (thrown) => {
      state.thrown = thrown;
    });
    [this.#session, this.#state, this.#endpoint, this.#tls] = [session, state, endpoint, tls];
    return session;
  }
}

/** @throws EtcdFailure for a certificate and key that cannot be used, such as those that do not fit each other */
function openSession(endpoint: string, tls: TlsMaterial | undefined): ClientHttp2Session {
  try {
    return http2.connect(endpoint, toTlsOptions(tls));
  } catch (thrown) {
    // What `fetch` calls it, too. Who has the files finds out why.
    throw new EtcdFailure("unreachable", "cannot connect", 0, thrown);
  }
}

/** What every reply of gRPC has, also that of a refusal. */
const OK = 200;

async function* readStream(stream: ClientHttp2Stream, state: SessionState): AsyncIterable<Uint8Array> {
  let status: string | undefined;
  let httpStatus: number | undefined;
  let reason = "";
  const note = (headers: IncomingHttpHeaders): void => {
    const [code, message] = [headers["grpc-status"], headers["grpc-message"]];
    if (typeof code === "string") status = code;
    if (typeof message === "string") reason = toPlainText(message);
  };
  stream.on("response", (headers) => {
    httpStatus = headers[":status"];
    state.hasReplied = true;
    note(headers);
  });
  stream.on("trailers", note);
  const reader = new FrameReader();
  try {
    for await (const chunk of stream) {
      if (httpStatus !== OK) break; // a page for people
      yield* reader.push(chunk as Uint8Array);
    }
  } catch (thrown) {
    throw toFailure(state.thrown ?? thrown, state.hasReplied);
  }
  if (state.thrown !== undefined) throw toFailure(state.thrown, state.hasReplied);
  if (status === undefined && httpStatus !== undefined && httpStatus !== OK) throw toHttpFailure(httpStatus);
  if (status === undefined) throw new EtcdFailure("lost", "connection lost");
  if (status !== "0") throw new EtcdFailure("refused", reason, Number(status));
}

/** The failure for an answer that is not gRPC, from a proxy or another server. With status 4xx it has not passed the request on. */
function toHttpFailure(httpStatus: number): EtcdFailure {
  const text = `HTTP status ${httpStatus}, no gRPC`;
  const isPassedOn = httpStatus < 400 || httpStatus >= 500;
  return isPassedOn ? new EtcdFailure("refused", text, STATUS.unavailable) : new EtcdFailure("unreachable", text);
}

/** Decodes a percent-encoded message. Proxies and old servers send it unencoded: then it stays as it is, since nobody would catch an error. */
function toPlainText(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
