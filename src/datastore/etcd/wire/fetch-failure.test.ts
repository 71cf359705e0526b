import { expect, test } from "bun:test";
import { toFailure } from "./fetch-failure.ts";

const thrown = (code: string): Error => Object.assign(new Error("text of no use"), { code });

test.each([
  ["ConnectionRefused", "unreachable", "connection refused"],
  ["EADDRNOTAVAIL", "unreachable", "cannot assign requested address"],
  ["EMFILE", "unreachable", "too many open files"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "untrusted", "TLS handshake: DEPTH_ZERO_SELF_SIGNED_CERT"],
  ["ECONNRESET", "lost", "connection closed without a reply"],
  ["ECONNABORTED", "lost", "connection lost (ECONNABORTED)"],
])("%s before a reply is %p, and after its head nothing but lost", (code, reason, message) => {
  expect(toFailure(thrown(code))).toMatchObject({ reason, message });
  expect(toFailure(thrown(code), true)).toMatchObject({ reason: "lost", message: `connection lost (${code})` });
});
