/**
 * gRPC over Bun's own HTTP/2, which is loaded already: 8 ms less than `node:http2` until the first reply. It does not show
 * trailers, so a refusal is seen and its reason is not.
 */

import { toFailure } from "../fetch-failure.ts";
import { EtcdFailure } from "../failure.ts";
import type { Sessions } from "../sessions.ts";
import type { Target } from "../transport.ts";
import { FrameReader, toFrame } from "./frame.ts";

/** The server refused, and why came in a trailer: ask again in another way. */
export class ReasonHidden extends EtcdFailure {
  override readonly name = "ReasonHidden";

  constructor() {
    super("lost", "etcd refused the request");
  }
}

/**
 * Sends one message and waits for the one that answers it.
 *
 * @throws EtcdFailure, {@link ReasonHidden} when the server refused
 */
export async function fetchUnary(sessions: Sessions, method: string, message: Uint8Array, target: Target): Promise<Uint8Array> {
  const { endpoint, signal, tls, token } = target;
  const headers: Record<string, string> = { "content-type": "application/grpc", te: "trailers" };
  if (token !== undefined) headers["token"] = token;
  const session = sessions.for(tls);
  let body: Uint8Array;
  try {
    const options = { method: "POST", body: toFrame(message), headers, signal, redirect: "error", session, protocol: "http2" } as const;
    const response = await fetch(endpoint + method, options);
    if (!response.ok) throw new EtcdFailure("unsupported", `HTTP status ${response.status}, no gRPC`);
    body = await response.bytes();
  } catch (thrown) {
    throw toFailure(thrown);
  }
  const [reply] = new FrameReader().push(body);
  // A refusal has no message; neither has a reply that was cut off: both are a matter for the other way of asking.
  if (reply === undefined) throw new ReasonHidden();
  return reply;
}
