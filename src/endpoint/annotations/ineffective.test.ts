import { expect, test } from "bun:test";
import { warnOfIneffective } from "./ineffective.ts";

function warnings(pod: Readonly<Record<string, string>>, namespace: Readonly<Record<string, string>> = {}): readonly string[] {
  return warnOfIneffective({ namespace: "prod", name: "web-0", annotations: pod }, namespace);
}

test("a misspelt annotation is named, with the one that was meant", () => {
  expect(warnings({ "cni.netplug.io/ipAddr": '["10.0.0.1"]' })).toEqual([
    'annotation "cni.netplug.io/ipAddr" of pod "prod/web-0" is unknown and has no effect: was "cni.netplug.io/ipAddrs" meant?',
  ]);
  expect(warnings({}, { "cni.netplug.io/IPv4Pools": "[]" })).toEqual([
    'annotation "cni.netplug.io/IPv4Pools" of namespace "prod" for pod "prod/web-0" is unknown and has no effect: was "cni.netplug.io/ipv4pools" meant?',
  ]);
  expect(warnings({ "cni.netplug.io/colour": "blue" })).toEqual([
    'annotation "cni.netplug.io/colour" of pod "prod/web-0" is unknown and has no effect',
  ]);
});

test("what counts on pods only has no effect on a namespace", () => {
  expect(warnings({}, { "cni.netplug.io/ipAddrs": '["10.0.0.1"]', "cni.netplug.io/ipFamilies": '["IPv4"]' })).toEqual([
    'annotation "cni.netplug.io/ipAddrs" of namespace "prod" for pod "prod/web-0" has no effect: it counts on pods only',
  ]);
});

test.each([
  ["ipv4pools", true],
  ["ipv6pools", true],
  ["ipFamilies", true],
  ["ipAddrs", false],
  ["ipAddrsByPod", false],
  ["ipAddrsNoIpam", false],
  ["floatingIPs", false],
  ["hwAddr", false],
  ["allowedSourcePrefixes", false],
])("%s counts on a pod, and on a namespace: %p", (name, countsOnNamespace) => {
  const annotation = { [`cni.netplug.io/${name}`]: "x" };
  expect(warnings(annotation)).toEqual([]);
  expect(warnings({}, annotation)).toHaveLength(countsOnNamespace ? 0 : 1);
});

test("one of another plugin, with a name of ours, is named with ours", () => {
  const foreign = { "cni.projectcalico.org/ipAddrs": '["10.0.0.1"]', "cni.projectcalico.org/podIP": "10.0.0.1/32" };
  expect(warnings(foreign, { "cni.projectcalico.org/ipv4pools": '["blue"]' })).toEqual([
    'annotation "cni.projectcalico.org/ipAddrs" of pod "prod/web-0" is another plugin\'s and has no effect: was "cni.netplug.io/ipAddrs" meant?',
    'annotation "cni.projectcalico.org/ipv4pools" of namespace "prod" for pod "prod/web-0" is another plugin\'s and has no effect: was "cni.netplug.io/ipv4pools" meant?',
  ]);
});

test.each(["netplug.io/ipAddrs", "ipAddrs"])("one of ours whose prefix is wrong or missing is named with ours: %s", (key) => {
  const text = 'of pod "prod/web-0" is unknown and has no effect: was "cni.netplug.io/ipAddrs" meant?';
  expect(warnings({ [key]: '["10.0.0.1"]' })).toEqual([`annotation "${key}" ${text}`]);
});

test("nothing is said of annotations that are known, recorded by the system, or somebody else's", () => {
  const recorded = {
    "cni.netplug.io/podIP": "10.0.0.1/32",
    "cni.netplug.io/podIPs.net1": "10.0.0.2/32",
    "cni.netplug.io/containerID": "c",
  };
  expect(
    warnings({ ...recorded, "cni.netplug.io/hwAddr": "02:00:5e:10:00:01", "example.org/ipAddrs": "x", "cni.example.org/colour": "x" }),
  ).toEqual([]);
});
