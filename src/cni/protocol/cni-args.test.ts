import { describe, expect, test } from "bun:test";
import type { NetplugError } from "../../lib/errors.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { parseMac } from "../../lib/mac-address.ts";
import { parseCniArgs } from "./cni-args.ts";

const CONTAINER_OF_PODMAN = "0123456789abcdef".repeat(4);

test("reads what containerd sets", () => {
  const text =
    "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=abc123;K8S_POD_UID=1b4e28ba-2fa1-11d2-883f-0016d3cca427";
  expect(parseCniArgs(text, "c1")).toEqual({
    pod: { namespace: "default", name: "web-0", uid: "1b4e28ba-2fa1-11d2-883f-0016d3cca427" },
    ip: undefined,
    mac: undefined,
  });
});

test.each(["happy_pike", "web", "Web.1"])("what Podman says of a container of the name %p is no pod", (name) => {
  const args = parseCniArgs(`IgnoreUnknown=1;K8S_POD_NAME=${name};MAC=02:00:5e:10:00:01;IP=10.65.0.7`, CONTAINER_OF_PODMAN);
  expect(args).toEqual({ pod: undefined, ip: parseAddress("10.65.0.7"), mac: parseMac("02:00:5e:10:00:01") });
});

test("what `podman build` and Buildah say of a container is no pod", () => {
  const id = "buildah-buildah496399553";
  expect(parseCniArgs(`IgnoreUnknown=1;K8S_POD_NAME=${id}`, id)).toEqual({ pod: undefined, ip: undefined, mac: undefined });
});

test.each([
  "",
  ";",
  "IgnoreUnknown=1;",
  "K8S_POD_INFRA_CONTAINER_ID=a b",
  ";;FOO=bar;;",
  "K8S_POD_NAME=;K8S_POD_NAMESPACE=",
  "ip=1",
  "toString=x",
  "__proto__=x",
])("%p names no pod and asks for nothing", (text) =>
  expect(parseCniArgs(text, "c1")).toEqual({ pod: undefined, ip: undefined, mac: undefined }),
);

test("a pod's name is limited as a whole, its labels are not", () => {
  const name = `${"a".repeat(200)}.${"b".repeat(52)}`;
  expect(parseCniArgs(`K8S_POD_NAME=${name};K8S_POD_NAMESPACE=a`, "c1").pod?.name).toBe(name);
});

test("reads an address of either family", () => {
  expect(parseCniArgs("IP=10.65.0.7;", "c1").ip).toEqual(parseAddress("10.65.0.7"));
  expect(parseCniArgs("IP=fd00:65::7", "c1").ip).toEqual(parseAddress("fd00:65::7"));
});

test("reads a MAC address in any spelling", () => {
  expect(parseCniArgs("MAC=02-00-5E-10-00-01", "c1").mac).toBe(parseMac("02:00:5e:10:00:01"));
});

test("the same key twice counts when both agree", () => {
  expect(parseCniArgs("IP=10.65.0.7;IP=10.65.0.7", "c1").ip).toEqual(parseAddress("10.65.0.7"));
});

describe("code 104", () => {
  test.each([
    ["FOO", 'got "FOO", want key=value'],
    ["A=b=c", 'got "A=b=c", want key=value'],
    ["A=b; ", 'got " ", want key=value'],
    ["IP=10.65.0.0/16", 'IP is "10.65.0.0/16", want an IPv4 or IPv6 address without prefix length'],
    ["IP=10.65.0.7,10.65.0.8", 'IP is "10.65.0.7,10.65.0.8", want an IPv4 or IPv6 address'],
    ["IP=10.65.0.7;IP=10.65.0.8", 'IP is "10.65.0.7" and "10.65.0.8"'],
    ["MAC=xx", 'MAC is "xx", want a unicast address'],
    ["MAC=ee:ee:ee:ee:ee:ee", 'MAC is "ee:ee:ee:ee:ee:ee", want a unicast address aa:bb:cc:dd:ee:ff, not the host side\'s'],
    ["K8S_POD_NAME=web-0", "got K8S_POD_NAME without K8S_POD_NAMESPACE"],
    ["IgnoreUnknown=1;K8S_POD_NAME=web-0", "got K8S_POD_NAME without K8S_POD_NAMESPACE"],
    ["IgnoreUnknown=1;K8S_POD_NAMESPACE=default", "got K8S_POD_NAMESPACE without K8S_POD_NAME"],
    ["IgnoreUnknown=1;K8S_POD_NAME=web-0;K8S_POD_NAMESPACE=", "got K8S_POD_NAME without K8S_POD_NAMESPACE"],
    ["IgnoreUnknown=1;K8S_POD_NAME=web-0;K8S_POD_UID=a", "got K8S_POD_NAME without K8S_POD_NAMESPACE"],
    ["IgnoreUnknown=1;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=a", "got K8S_POD_NAME without K8S_POD_NAMESPACE"],
    ["K8S_POD_NAMESPACE=default;K8S_POD_NAME=", "got K8S_POD_NAMESPACE without K8S_POD_NAME"],
    ["K8S_POD_NAME=../x;K8S_POD_NAMESPACE=a", "K8S_POD_NAME is"],
    ["K8S_POD_NAME=Web;K8S_POD_NAMESPACE=a", "K8S_POD_NAME is"],
    ["K8S_POD_NAME=a..b;K8S_POD_NAMESPACE=a", "K8S_POD_NAME is"],
    ["K8S_POD_NAME=a.-b;K8S_POD_NAMESPACE=a", "K8S_POD_NAME is"],
    [`K8S_POD_NAME=${"a".repeat(254)};K8S_POD_NAMESPACE=a`, "K8S_POD_NAME is"],
    ["K8S_POD_NAME=a;K8S_POD_NAMESPACE=a.b", "K8S_POD_NAMESPACE is"],
    [`K8S_POD_NAME=a;K8S_POD_NAMESPACE=${"a".repeat(64)}`, "K8S_POD_NAMESPACE is"],
    ["K8S_POD_UID=a/b", "K8S_POD_UID is"],
    ["K8S_POD_UID=a\u0007", "K8S_POD_UID is"],
  ])("%p: %s", (text, message) => {
    let thrown: unknown;
    try {
      parseCniArgs(text, "c1");
    } catch (error) {
      thrown = error;
    }
    expect((thrown as NetplugError).code).toBe(104);
    expect((thrown as NetplugError).message).toStartWith(`read CNI_ARGS: ${message}`);
    expect((thrown as NetplugError).message).not.toMatch(/\p{Cc}/u);
  });

  test("hostile names are refused in no time", () => {
    const start = performance.now();
    for (const hostile of [`${"a-".repeat(50_000)}!`, "a.".repeat(50_000), `${"a".repeat(250)}!`]) {
      expect(() => parseCniArgs(`K8S_POD_NAME=${hostile};K8S_POD_NAMESPACE=a`, "c1")).toThrow("K8S_POD_NAME");
    }
    expect(performance.now() - start).toBeLessThan(200);
  });
});
