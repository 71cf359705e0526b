import { expect, test } from "bun:test";
import { parseClusterOrder } from "./order.ts";

test("without arguments it is one node with netplug on the Kubernetes API", () => {
  const usual = { command: "start", nodes: 1, network: "netplug", datastore: "kubernetes" } as const;
  expect(parseClusterOrder([])).toEqual(usual);
  expect(parseClusterOrder(["--network=ptp", "--nodes=3"])).toEqual({ ...usual, nodes: 3, network: "ptp" });
  expect(parseClusterOrder(["--datastore=etcdv3"])).toEqual({ ...usual, datastore: "etcdv3" });
  expect(parseClusterOrder(["--nodes", "2", "--network", "ptp"])).toEqual({ ...usual, nodes: 2, network: "ptp" });
});

test("build and api stand alone", () => {
  expect(parseClusterOrder(["build"])).toEqual({ command: "build" });
  expect(() => parseClusterOrder(["api", "--nodes=2"])).toThrow('got "api"');
});

test("what makes no sense is named", () => {
  expect(() => parseClusterOrder(["--nodes=0"])).toThrow('--nodes: got "0", want 1..20');
  expect(() => parseClusterOrder(["--nodes"])).toThrow('--nodes: got "", want 1..20');
  expect(() => parseClusterOrder(["--network=vxlan"])).toThrow('--network: got "vxlan", want netplug or ptp');
  expect(() => parseClusterOrder(["--datastore=etcd"])).toThrow('--datastore: got "etcd", want kubernetes or etcdv3');
  expect(() => parseClusterOrder(["--node=1"])).toThrow('got "--node=1"');
});
