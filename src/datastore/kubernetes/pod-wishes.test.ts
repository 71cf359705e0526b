import { expect, test } from "bun:test";
import { toEndpointNATs, toSourcePrefixes } from "./pod-wishes.ts";

const NETWORKS = ["10.65.0.7/32", "fd65::7/128"];

test("each floating address leads to the endpoint's address of its family, once", () => {
  const nats = (value: string | undefined, networks = NETWORKS) =>
    toEndpointNATs(value === undefined ? {} : { "cni.netplug.io/floatingIPs": value }, networks);
  expect(nats('["192.0.2.9", "2001:DB8::9", "192.0.2.9"]')).toEqual([
    { internalIP: "10.65.0.7", externalIP: "192.0.2.9" },
    { internalIP: "fd65::7", externalIP: "2001:db8::9" },
  ]);
  expect(nats('["192.0.2.9", "2001:db8::9"]', ["fd65::7/128"])).toEqual([{ internalIP: "fd65::7", externalIP: "2001:db8::9" }]);
  expect(nats('["192.0.2.9"]', [])).toEqual([]);
  for (const value of [undefined, "", "x", "{}", "[7]", '["192.0.2.9", "x"]', '["192.0.2.0/24"]']) expect(nats(value)).toEqual([]);
});

test("source prefixes lose their host bits", () => {
  const prefixes = (value: string) => toSourcePrefixes({ "cni.netplug.io/allowedSourcePrefixes": value });
  expect(prefixes('["198.51.100.7/24", "fd00::1/8"]')).toEqual(["198.51.100.0/24", "fd00::/8"]);
  for (const value of ["", "x", "[]", '["10.0.0.0/8", "10.0.0.1"]']) expect(prefixes(value)).toEqual([]);
});
