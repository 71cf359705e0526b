/** A readiness gate that nobody passes before it opens. */
export function closedGate(): AsyncDisposable & { readonly url: string; readonly asked: Promise<void>; open(): void } {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  let isOpen = false;
  const fetch = (): Response => {
    resolve();
    return new Response(null, { status: isOpen ? 204 : 503 });
  };
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
  return { url: server.url.href, asked, open: () => void (isOpen = true), [Symbol.asyncDispose]: () => server.stop(true) };
}
