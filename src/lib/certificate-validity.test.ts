import { expect, test } from "bun:test";
import { whyNotValid } from "./certificate-validity.ts";

const certificate = { validFrom: "Nov 29 09:00:00 2026 GMT", validTo: "Dec  1 09:00:00 2026 GMT" };

test.each([
  ["2026-11-29T08:59:59Z", "it is not valid before 2026-11-29T09:00:00.000Z: set this machine's clock, or the server's"],
  ["2026-11-29T09:00:00Z", undefined],
  ["2026-12-01T09:00:00Z", undefined],
  ["2026-12-01T09:00:01Z", "it expired at 2026-12-01T09:00:00.000Z: renew it"],
])("at %s a certificate counts or does not", (now, why) => {
  expect(whyNotValid(certificate, Date.parse(now))).toBe(why);
});
