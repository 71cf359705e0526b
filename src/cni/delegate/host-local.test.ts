import { expect, test } from "bun:test";
import { NetplugError } from "../../lib/errors.ts";
import { requireRanges } from "./host-local.ts";

function faultOf(config: Record<string, unknown>, type = "host-local"): string | undefined {
  try {
    requireRanges(type, config);
    return undefined;
  } catch (thrown) {
    return thrown instanceof NetplugError ? `${thrown.code}: ${thrown.message}` : String(thrown);
  }
}

const SUBNET = 'want address/length, "usePodCidr" or "usePodCidrIPv6"';

test.each<[ipam: Record<string, unknown>, fault: string]>([
  [{ ranges: 5 }, '"ipam.ranges": got 5, want a list of lists of ranges'],
  [{ ranges: [{}] }, '"ipam.ranges[0]": got an object, want a list of ranges'],
  [{ ranges: [[{ subnet: "10.0.0.0/24" }, "x"]] }, '"ipam.ranges[0][1]": got "x", want an object with "subnet"'],
  [{ ranges: [[{}]] }, `"ipam.ranges[0][0].subnet": got nothing, ${SUBNET}`],
  [{ ranges: [[{ subnet: "10.0.0.0" }]] }, `"ipam.ranges[0][0].subnet": got "10.0.0.0", ${SUBNET}`],
  [{ subnet: 5 }, `"ipam.subnet": got 5, ${SUBNET}`],
  [{ subnet: "10.0.0.0/24", rangeStart: 5 }, '"ipam.rangeStart": got 5, want an address'],
  [{ ranges: [[{ subnet: "10.0.0.0/24", rangeEnd: "x" }]] }, '"ipam.ranges[0][0].rangeEnd": got "x", want an address'],
])("host-local's %j is code 7 and says what is wanted", (ipam, fault) => {
  expect(faultOf({ ipam })).toBe(`7: read ${fault}`);
});

test("so are ranges that the runtime names", () => {
  expect(faultOf({ ipam: {}, runtimeConfig: { ipRanges: 5 } })).toBe(
    '7: read "runtimeConfig.ipRanges": got 5, want a list of lists of ranges',
  );
});

test("what host-local takes passes, and all of another plugin", () => {
  const ranges = [[{ subnet: "usepodcidr", rangeStart: "10.0.0.2", rangeEnd: "" }], [{ subnet: "fd00::/64", rangeStart: null }], []];
  for (const ipam of [{}, { subnet: null, ranges: null }, { subnet: "10.0.0.0/24" }, { ranges }, undefined]) {
    expect(faultOf({ ipam })).toBeUndefined();
  }
  expect(faultOf({ ipam: { ranges: 5, subnet: 5 } }, "static")).toBeUndefined();
});
