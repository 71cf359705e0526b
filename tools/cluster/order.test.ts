import { expect, test } from "bun:test";
import { parseClusterOrder, variablesFor } from "./order.ts";

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
  expect(() => parseClusterOrder(["--datastore=etcdv3", "--network=ptp"])).toThrow("--datastore: it is netplug's");
  expect(() => parseClusterOrder(["--node=1"])).toThrow('got "--node=1"');
});

test("the variables for a shell override those of another cluster", () => {
  const start = { command: "start", nodes: 1, network: "netplug", datastore: "kubernetes" } as const;
  const etcd = "http://192.0.2.1:2379";
  expect(variablesFor(start, etcd)).toEqual(["DATASTORE_TYPE=kubernetes"]);
  expect(variablesFor({ ...start, datastore: "etcdv3" }, etcd)).toEqual(["DATASTORE_TYPE=etcdv3", `ETCD_ENDPOINTS=${etcd}`]);
  expect(variablesFor({ ...start, network: "ptp" }, etcd)).toEqual([]);
});
