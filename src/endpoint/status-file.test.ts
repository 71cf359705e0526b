import { describe, expect, test } from "bun:test";
import { parseAddress } from "../lib/ip/address.ts";
import { findStatusMismatch, toStatusFileName } from "./status-file.ts";
import type { EndpointIdentity } from "./status-file.ts";

describe("name of a status file", () => {
  const pod = (namespace: string, name: string, ifName = "eth0"): string =>
    toStatusFileName({ containerID: "c", ifName, pod: { namespace, name } });

  test("has orchestrator, workload and interface", () => {
    expect(pod("default", "web-0")).toBe("k8s default%2Fweb-0 eth0");
    expect(toStatusFileName({ containerID: "abc_1.2", ifName: "net1", pod: undefined })).toBe("cni abc_1.2 net1");
  });

  test("escapes as Go's url.PathEscape does", () => {
    expect(pod("defaul/t", "testp/od1", "eth/0")).toBe("k8s defaul%2Ft%2Ftestp%2Fod1 eth%2F0");
    expect(pod("default", "t est pod1")).toBe("k8s default%2Ft%20est%20pod1 eth0");
    // Output of url.PathEscape for every printable ASCII character, and for one of two, three and four bytes.
    const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, i) => i + 32));
    expect(pod("n", `${printable}é€😀`)).toBe(
      "k8s n%2F%20%21%22%23$%25&%27%28%29%2A+%2C-.%2F0123456789:%3B%3C=%3E%3F@ABCDEFGHIJKLMNOPQRSTUVWXYZ%5B%5C%5D%5E_%60abcdefghijklmnopqrstuvwxyz%7B%7C%7D~%C3%A9%E2%82%AC%F0%9F%98%80 eth0",
    );
  });
});

describe("content of a status file", () => {
  const wanted: EndpointIdentity = {
    hostName: "npg82111e10a96",
    containerID: "container-1",
    addresses: [parseAddress("10.65.0.7"), parseAddress("fd00:65::7")],
    podMac: "02:aa:bb:cc:dd:ee",
  };
  const right = {
    ifaceName: "npg82111e10a96",
    mac: "02:aa:bb:cc:dd:ee",
    ipv4Nets: ["10.65.0.7/32"],
    ipv6Nets: ["fd00:65::7/128"],
    containerID: "container-1",
  };
  const mismatch = (change: Record<string, unknown>): string | undefined =>
    findStatusMismatch(JSON.stringify({ ...right, ...change }), wanted);

  test.each([
    ["as the agent writes it", {}],
    ["with more fields", { bgpPeerName: "x" }],
    ["without a MAC", { mac: undefined }],
    ["with an empty MAC", { mac: "" }],
    ["with a MAC in capitals", { mac: "02:AA:BB:CC:DD:EE" }],
    ["with an address in another spelling", { ipv6Nets: ["FD00:0065:0::7/128"] }],
  ])("%s is accepted", (_, change) => {
    expect(mismatch(change)).toBeUndefined();
  });

  test.each([
    ["another interface", { ifaceName: "npg00000000000" }],
    ["another container", { containerID: "container-0" }],
    ["no container", { containerID: undefined }],
    ["another MAC", { mac: "02:aa:bb:cc:dd:ef" }],
    ["a MAC that is no text", { mac: 7 }],
    ["other addresses", { ipv4Nets: ["10.65.0.8/32"] }],
    ["an address too few", { ipv6Nets: undefined }],
    ["an address too many", { ipv4Nets: ["10.65.0.7/32", "10.65.0.8/32"] }],
    ["the same address twice in place of the other", { ipv4Nets: ["10.65.0.7/32", "10.65.0.7/32"], ipv6Nets: [] }],
    ["a whole network", { ipv4Nets: ["10.65.0.0/24"] }],
    ["addresses that are none", { ipv4Nets: [null], ipv6Nets: [{}] }],
    ["addresses that are no list", { ipv4Nets: "10.65.0.7/32" }],
    ["addresses that are an object", { ipv6Nets: {} }],
    ["IPv4 addresses that are an object", { ipv4Nets: {} }],
  ])("%s counts as absent", (_, change) => {
    expect(mismatch(change)).toStartWith("it");
  });

  test.each(["", "{", "null", "[]", '"text"', `{"ifaceName":`])("%p counts as absent", (content) => {
    expect(findStatusMismatch(content, wanted)).toStartWith("it");
  });

  test("null is an empty list, and no MAC", () => {
    const v4only = { ...wanted, addresses: [parseAddress("10.65.0.7")] };
    expect(findStatusMismatch(JSON.stringify({ ...right, ipv6Nets: null, mac: null }), v4only)).toBeUndefined();
    expect(mismatch({ ipv6Nets: null })).toBe("it names other addresses");
  });

  test("the order of the addresses says nothing", () => {
    const addresses = ["fd00:65::7", "10.65.0.7", "10.65.0.10"].map(parseAddress);
    const ipv4Nets = ["10.65.0.7/32", "10.65.0.10/32"];
    for (const nets of [ipv4Nets, ipv4Nets.toReversed()])
      expect(findStatusMismatch(JSON.stringify({ ...right, ipv4Nets: nets }), { ...wanted, addresses })).toBeUndefined();
  });

  test("an endpoint without addresses matches a file without addresses", () => {
    expect(
      findStatusMismatch(JSON.stringify({ ...right, ipv4Nets: undefined, ipv6Nets: undefined }), { ...wanted, addresses: [] }),
    ).toBeUndefined();
  });
});
