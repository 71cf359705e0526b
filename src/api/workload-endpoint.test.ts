import { expect, test } from "bun:test";
import { toPrefixText } from "../lib/ip/prefix.ts";
import { networksOf, type WorkloadEndpoint } from "./workload-endpoint.ts";

test.each([
  ["addresses of both families", ["10.65.0.7/32", "fd00:65::7/128"], ["10.65.0.7/32", "fd00:65::7/128"]],
  ["nothing", undefined, []],
  ["a text", "10.65.0.7/32", []],
  ["a number", 7, []],
  ["what is no address among others", [null, 7, "x", {}, "10.65.0.7/32", "10.65.0.8"], ["10.65.0.7/32", "10.65.0.8/32"]],
])("a record with %s names those that can be read", (_what, ipNetworks, expected) => {
  const spec = { orchestrator: "cni", node: "n1", endpoint: "eth0", ipNetworks } as unknown as WorkloadEndpoint["spec"];
  expect(networksOf({ spec }).map(toPrefixText)).toEqual(expected);
});
