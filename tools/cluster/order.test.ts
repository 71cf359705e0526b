import { expect, test } from "bun:test";
import { parseClusterOrder } from "./order.ts";

test("without arguments it is one node with netplug", () => {
  expect(parseClusterOrder([])).toEqual({ command: "start", nodes: 1, network: "netplug" });
  expect(parseClusterOrder(["--network=ptp", "--nodes=3"])).toEqual({ command: "start", nodes: 3, network: "ptp" });
});

test("build, api and help stand alone", () => {
  expect(parseClusterOrder(["build"])).toEqual({ command: "build" });
  expect(parseClusterOrder(["--help"])).toEqual({ command: "help" });
  expect(() => parseClusterOrder(["api", "--nodes=2"])).toThrow('got "api"');
});

test("what makes no sense is named", () => {
  expect(() => parseClusterOrder(["--nodes=0"])).toThrow('--nodes: got "0", want 1..20');
  expect(() => parseClusterOrder(["--network=vxlan"])).toThrow('--network: got "vxlan", want netplug or ptp');
  expect(() => parseClusterOrder(["--node=1"])).toThrow('got "--node=1"');
});
