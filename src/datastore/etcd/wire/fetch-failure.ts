/** What Bun's `fetch` throws, as one of our failures. */

import { NetplugError } from "../../../lib/errors.ts";
import { codeOf, isHandshakeCode, whyNeverSent } from "../../../lib/fetch-fault.ts";
import { EtcdFailure, NO_REPLY } from "../protocol/failure.ts";

/**
 * @param replied the head of a reply came already, to this request or over this connection: the request may have been carried out
 */
export function toFailure(thrown: unknown, replied = false): EtcdFailure {
  if (thrown instanceof EtcdFailure) return thrown;
  if (thrown instanceof NetplugError) return new EtcdFailure("lost", thrown.message, 0, thrown);
  const { message } = thrown as { readonly message?: unknown };
  const code = codeOf(thrown);
  if (!replied) {
    const reason = whyNeverSent(code);
    if (reason !== undefined) return new EtcdFailure("unreachable", reason, 0, thrown);
    if (isHandshakeCode(code)) return new EtcdFailure("untrusted", `TLS handshake: ${code}`, 0, thrown);
    if (code === "ECONNRESET") return new EtcdFailure("lost", NO_REPLY, 0, thrown);
  }
  return new EtcdFailure("lost", typeof message === "string" && code === "" ? message : `connection lost (${code})`, 0, thrown);
}
