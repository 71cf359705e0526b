import { expect, test } from "bun:test";
import { codeOf, isHandshakeCode, whyNeverSent } from "./fetch-fault.ts";

/** What `fetch` throws for a URL. */
async function thrownBy(url: string): Promise<unknown> {
  return await fetch(url).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}

test("a port on which nobody listens refuses the connection", async () => {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const { port } = server;
  server.stop(true);
  const code = codeOf(await thrownBy(`http://127.0.0.1:${port}/`));
  expect([whyNeverSent(code), isHandshakeCode(code)]).toEqual(["connection refused", false]);
});

test("a certificate of somebody unknown fails the handshake, and is not taken for a request that was never sent", () => {
  for (const code of ["DEPTH_ZERO_SELF_SIGNED_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID", "EPROTO"])
    expect([isHandshakeCode(code), whyNeverSent(code)]).toEqual([true, undefined]);
});

test("an unknown code is neither unsent nor a failed handshake, and an error without a code has the empty one", () => {
  for (const code of ["", "ECONNRESET", "constructor", "toString"])
    expect([whyNeverSent(code), isHandshakeCode(code)]).toEqual([undefined, false]);
  for (const thrown of [new Error("x"), { code: 7 }, "text"]) expect(codeOf(thrown)).toBe("");
});
