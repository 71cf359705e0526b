/** A permission that a server denies which has just started. Loaded only after a denial. */

import type { Login } from "../access/credentials.ts";
import { KubeError } from "../kube-error.ts";
import type { KubeRequest } from "../request.ts";
import type { Transport } from "./transport.ts";

const READINESS: KubeRequest = {
  verb: "get",
  type: undefined,
  target: {},
  path: "/readyz",
  query: {},
  accept: "text/plain",
  isRepeatable: true,
};

/**
 * A server that has just started has not read its roles yet: for up to some seconds it denies everything, this question too, in the words
 * that it has for a permission that is missing.
 *
 * @returns the denial with this doubt in its message; undefined where the server says that it is ready: the permission is missing
 */
export async function doubtDenial(
  denial: KubeError,
  transport: Transport,
  login: Login,
  signal: AbortSignal,
): Promise<KubeError | undefined> {
  if (await isReady(transport, login, signal)) return undefined;
  const { reason, message, status, denied, details } = denial;
  const doubt = `${message}; the API server does not say that it is ready: it may have just started`;
  return new KubeError(reason, doubt, { status, details, denied, doubted: denial });
}

/** True also where something answers that does not know the question, as a proxy that passes on only what it knows: that says nothing of a start. */
async function isReady(transport: Transport, login: Login, signal: AbortSignal): Promise<boolean> {
  try {
    const { status, body } = await transport.send(READINESS, login, signal);
    await body?.cancel();
    return status !== 403 && status < 500;
  } catch {
    transport.close();
    return false;
  }
}
