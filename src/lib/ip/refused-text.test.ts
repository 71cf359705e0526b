import { expect, test } from "bun:test";
import { describeRefused } from "./refused-text.ts";

test.each([
  [
    "a leading zero",
    "without leading zeros, which some programs read as octal",
    ["010.240.0.0/20", "10.240.00.0", "10.0.0.08", "192.168.1.000/24"],
  ],
  ["a leading zero", "without leading zeros, which some programs read as octal", ["10.0.0.0/08"]],
  [
    "IPv4 inside",
    "IPv4 alone, or IPv6 in hexadecimal digits only",
    ["::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "::10.0.0.1/120", "0:0:0:0:0:FFFF:1.2.3.04"],
  ],
  [
    "a zone",
    "without a zone, which means something on one host only",
    ["fe80::1%eth0", "fe80::%1/64", "::ffff:10.0.0.1%2", "FE80:0:0:0:1:2:3:4%"],
  ],
])("%s is told: %s", (_, reason, texts) => {
  for (const text of texts) expect([text, describeRefused(text)]).toEqual([text, `; ${reason}`]);
});

test.each([
  "10.0.0.0/8",
  "0.0.0.0",
  "100.10.0.300",
  "010.0.0",
  "010.0.0.0.0",
  "fd00:0065::",
  "01-02",
  "00:0a.1.2.3",
  "10.0.0.1%eth0",
  "a:b%c",
  "",
])("%j is refused, if at all, for something else", (text) => {
  expect(describeRefused(text)).toBe("");
});
