/** Asking an HTTP server whether it is there, for readiness gates. */

/**
 * The status of one GET: follows redirects, asks no proxy whatever the environment says (a container runtime's proxy cannot reach
 * what runs on the node), reads no body.
 *
 * @throws Error with a short reason, e.g. `ECONNREFUSED`; the signal's reason when it aborts
 */
export async function probeHttp(url: string, signal: AbortSignal): Promise<{ readonly status: number }> {
  let response: Response;
  try {
    response = await fetch(url, { proxy: false, redirect: "follow", keepalive: false, signal });
  } catch (thrown) {
    signal.throwIfAborted();
    // Bun's own text asks whether "the computer is able to access the url".
    throw thrown instanceof Error && "code" in thrown && typeof thrown.code === "string"
      ? new Error(thrown.code, { cause: thrown })
      : thrown;
  }
  await response.body?.cancel().catch(() => {});
  return { status: response.status };
}
