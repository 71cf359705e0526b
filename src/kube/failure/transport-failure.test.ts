import { describe, expect, test } from "bun:test";
import { NetplugError } from "../../lib/errors.ts";
import { toRequest } from "../request.ts";
import { PODS } from "../core-types.ts";
import type { KubeError } from "../kube-error.ts";
import type { Verb } from "../request.ts";
import { toBrokenFailure } from "./transport-failure.ts";

function failure(verb: Verb, thrown: unknown, isAnswered = false): KubeError {
  const request = toRequest(verb, PODS, { namespace: "d", name: "web" }, {});
  return toBrokenFailure(thrown, { request, server: "https://x", isAnswered });
}

const coded = (code: string): Error => Object.assign(new Error("The words of the runtime"), { code });

describe("a connection that was never there", () => {
  test.each([
    "ConnectionRefused",
    "ECONNREFUSED",
    "FailedToOpenSocket",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EADDRNOTAVAIL",
    "EMFILE",
    "HTTP2RefusedStream",
  ])("(%s) carried no write", (code) => {
    expect(failure("create", coded(code))).toMatchObject({ code: 11, reason: "unreachable", isOutcomeUnknown: false });
  });

  test.each(["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SELF_SIGNED_CERT_IN_CHAIN", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"])(
    "because of a certificate (%s) is code 108, and carried no write",
    (code) => {
      expect(failure("create", coded(code))).toMatchObject({
        code: 108,
        reason: "untrusted",
        message: `create pods "d/web": https://x: TLS handshake: ${code}`,
        details: expect.stringMatching(/^no authority that we trust|^its certificate/) as string,
        isOutcomeUnknown: false,
      });
    },
  );
});

describe("a connection that broke", () => {
  test.each(["ECONNREFUSED", "ERR_SSL_DECRYPTION_FAILED", "ECONNRESET"])("after the answer began (%s) may have carried a write", (code) => {
    expect(failure("create", coded(code), true)).toMatchObject({ code: 11, reason: "lost", isOutcomeUnknown: true });
  });

  test.each(["ECONNRESET", "ConnectionClosed"])("before that (%s) may have carried a write, but a read has no outcome", (code) => {
    const message = `pods "d/web": https://x: connection lost (${code})`;
    expect(failure("patch", coded(code))).toMatchObject({ reason: "lost", message: `patch ${message}`, isOutcomeUnknown: true });
    expect(failure("get", coded(code))).toMatchObject({ reason: "lost", message: `get ${message}`, isOutcomeUnknown: false });
  });

  test.each([
    ["its limit", new NetplugError("tryAgainLater", "no answer within 5 s")],
    ["something without a code", new Error("no answer within 5 s")],
  ])("because of %s says that", (_name, thrown) => {
    expect(failure("get", thrown).message).toBe('get pods "d/web": https://x: no answer within 5 s');
  });
});
