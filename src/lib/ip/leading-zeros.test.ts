import { expect, test } from "bun:test";
import { describeLeadingZeros } from "./leading-zeros.ts";

test.each(["010.240.0.0/20", "10.240.00.0", "10.0.0.08", "192.168.1.000/24", "10.0.0.0/08"])("%s has a leading zero", (text) => {
  expect(describeLeadingZeros(text)).toBe("; without leading zeros, which some programs read as octal");
});

test.each(["10.0.0.0/8", "0.0.0.0", "100.10.0.300", "010.0.0", "010.0.0.0.0", "fd00:0065::", "01-02", "00:0a.1.2.3", ""])(
  "%j is refused, if at all, for something else",
  (text) => {
    expect(describeLeadingZeros(text)).toBe("");
  },
);
