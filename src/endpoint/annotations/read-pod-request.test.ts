import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { shownValue } from "../../../test/support/shown-value.ts";
import { testSeed } from "../../../test/support/seed.ts";
import { NetplugError } from "../../lib/errors.ts";
import { toAddressText } from "../../lib/ip/address.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { type AnnotationConfig, type PodRequest, readPodRequest } from "./read-pod-request.ts";
import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";

const seed = testSeed();

const CONFIG: AnnotationConfig = {
  ipam: { type: "netplug-ipam", isOwn: true },
  families: [4],
  pools: { 4: ["from-config"] },
  featureControl: { ipAddrsNoIpam: true, floatingIPs: true },
};
const FOREIGN: AnnotationConfig = { ...CONFIG, ipam: { type: "host-local", isOwn: false }, pools: {} };

type Annotations = Readonly<Record<string, string>>;

function prefixed(annotations: Annotations): Annotations {
  return Object.fromEntries(Object.entries(annotations).map(([key, value]) => [ANNOTATION_PREFIX + key, value]));
}

function read(pod: Annotations, namespace: Annotations = {}, config = CONFIG): PodRequest {
  return readPodRequest({ namespace: "prod", name: "web-0", annotations: prefixed(pod) }, prefixed(namespace), config);
}

function failure(act: () => unknown): { readonly code: number; readonly message: string } {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof NetplugError) return { code: thrown.code, message: thrown.message };
    throw thrown;
  }
  throw new Error("nothing was thrown");
}

const texts = (request: PodRequest) => ({
  ...request,
  addresses: request.addresses.map(toAddressText),
  addressesWithoutIpam: request.addressesWithoutIpam.map(toAddressText),
  floatingIPs: request.floatingIPs.map(toAddressText),
  allowedSourcePrefixes: request.allowedSourcePrefixes.map(toPrefixText),
});

describe("without annotations", () => {
  test("the network config decides", () => {
    expect(read({})).toEqual({
      families: [4],
      pools: { 4: ["from-config"] },
      namedBy: {},
      addresses: [],
      addressesWithoutIpam: [],
      mac: undefined,
      floatingIPs: [],
      allowedSourcePrefixes: [],
    });
  });

  test("annotations of others, and those that the system writes, change nothing", () => {
    const others = { "example.com/ipAddrs": "x", "cni.netplug.io/podIP": "10.0.0.1/32", "cni.netplug.io/containerID": "x" };
    expect(readPodRequest({ namespace: "prod", name: "web-0", annotations: others }, others, CONFIG)).toEqual(read({}));
  });

  test("an empty text counts as absent, on pod and namespace", () => {
    const names = "ipv4pools ipv6pools ipFamilies ipAddrs ipAddrsByPod ipAddrsNoIpam floatingIPs hwAddr allowedSourcePrefixes".split(" ");
    const empty = Object.fromEntries(names.map((name) => [name, ""]));
    const strict = { ...FOREIGN, featureControl: { ipAddrsNoIpam: false, floatingIPs: false } };
    expect(read(empty, empty, strict)).toEqual(read({}, {}, strict));
  });
});

describe("pools", () => {
  test("of the pod come before those of the namespace, and those before the config's, family by family", () => {
    const namespace = { ipv4pools: '["ns4"]', ipv6pools: '["ns6", "fd00:65::/64"]' };
    expect(read({}, namespace).pools).toEqual({ 4: ["ns4"], 6: ["ns6", "fd00:65::/64"] });
    expect(read({ ipv4pools: '["pod4"]' }, namespace).pools).toEqual({ 4: ["pod4"], 6: ["ns6", "fd00:65::/64"] });
    expect(read({ ipv6pools: '["pod6"]' }).pools).toEqual({ 4: ["from-config"], 6: ["pod6"] });
  });

  test("are told apart by who names them, for messages", () => {
    const namespace = { ipv4pools: '["ns4"]', ipv6pools: '["ns6"]' };
    expect(read({ ipv4pools: '["pod4"]' }, namespace).namedBy).toEqual({
      4: 'annotation "cni.netplug.io/ipv4pools" of pod "prod/web-0"',
      6: 'annotation "cni.netplug.io/ipv6pools" of namespace "prod" for pod "prod/web-0"',
    });
    expect(read({ ipv4pools: "[]" }).namedBy).toEqual({});
  });

  test("pools that are named again count once", () => {
    const many = JSON.stringify(Array.from({ length: 64_000 }, (_, at) => "ba"[at % 2]));
    expect(read({ ipv4pools: many }).pools).toEqual({ 4: ["b", "a"] });
  });

  test("of an empty list set nothing", () => {
    expect(read({ ipv4pools: "[]" }).pools).toEqual({ 4: ["from-config"] });
    expect(read({ ipv4pools: "[]" }, { ipv4pools: '["ns4"]' }).pools).toEqual({ 4: ["ns4"] });
    expect(read({ ipv4pools: "[]" }, {}, FOREIGN).pools).toEqual({});
  });

  test("of a namespace are not looked at where the pod has its own", () => {
    expect(read({ ipv4pools: '["pod4"]' }, { ipv4pools: "{" }).pools).toEqual({ 4: ["pod4"] });
  });
});

describe("families", () => {
  test.each([
    ['["IPv4"]', [4]],
    ['["IPv6"]', [6]],
    ['["IPv6", "IPv4"]', [4, 6]],
    ['["IPv4", "IPv4"]', [4]],
  ] as const)("%s are %p", (value, families) => {
    expect(read({ ipFamilies: value }).families).toEqual(families);
    expect(read({}, { ipFamilies: value }).families).toEqual(families);
    expect(read({ ipFamilies: '["IPv4"]' }, { ipFamilies: value }).families).toEqual([4]);
  });

  test("are told to be the annotation's, for messages", () => {
    const value = { ipFamilies: '["IPv6"]' };
    expect(read(value, value).namedBy).toEqual({ families: 'annotation "cni.netplug.io/ipFamilies" of pod "prod/web-0"' });
    expect(read({}, value).namedBy).toEqual({ families: expect.stringContaining('of namespace "prod"') });
  });
});

describe("addresses", () => {
  test.each([
    ['["10.65.0.7"]', ["10.65.0.7"]],
    ['["FD00:65::7"]', ["fd00:65::7"]],
    ['["fd00:65::7", "10.65.0.7"]', ["fd00:65::7", "10.65.0.7"]],
  ])("%s are asked for, through IPAM or without it", (value, addresses) => {
    expect(texts(read({ ipAddrs: value }))).toMatchObject({ addresses, addressesWithoutIpam: [] });
    expect(texts(read({ ipAddrsNoIpam: value }))).toMatchObject({ addresses: [], addressesWithoutIpam: addresses });
  });

  test.each([
    ["ipAddrs", '["10.65.0.7"]'],
    ["ipAddrsByPod", '{"web-0": ["10.65.0.7"]}'],
    ["ipAddrsNoIpam", '["10.65.0.7"]'],
  ])("are told to be the annotation's, for messages: %s", (annotation, value) => {
    const addresses = `annotation "cni.netplug.io/${annotation}" of pod "prod/web-0"`;
    expect(read({ [annotation]: value }).namedBy).toEqual({ addresses });
  });

  test("count on the pod only", () => {
    const value = {
      ipAddrs: '["10.65.0.7"]',
      ipAddrsByPod: "x",
      ipAddrsNoIpam: "x",
      floatingIPs: "x",
      hwAddr: "x",
      allowedSourcePrefixes: "x",
    };
    expect(read({}, value)).toEqual(read({}));
  });

  test("leave the pools that are named besides as they are", () => {
    expect(texts(read({ ipAddrs: '["10.65.0.7"]', ipv4pools: '["blue"]' }))).toMatchObject({
      addresses: ["10.65.0.7"],
      pools: { 4: ["blue"] },
    });
  });
});

test("floating addresses are listed once each", () => {
  expect(texts(read({ floatingIPs: '["192.0.2.1", "fd00::1", "192.0.2.1", "192.0.2.2"]' })).floatingIPs).toEqual([
    "192.0.2.1",
    "fd00::1",
    "192.0.2.2",
  ]);
});

test("a MAC address is read in any spelling", () => {
  expect(read({ hwAddr: "02-00-5E-10-00-01" }).mac).toBe("02:00:5e:10:00:01" as never);
});

test("source prefixes lose their host bits; an empty list is none", () => {
  expect(texts(read({ allowedSourcePrefixes: '["1.1.1.1/16", "fd00::1/64", "0.0.0.0/0"]' })).allowedSourcePrefixes).toEqual([
    "1.1.0.0/16",
    "fd00::/64",
    "0.0.0.0/0",
  ]);
  expect(read({ allowedSourcePrefixes: "[]" }).allowedSourcePrefixes).toEqual([]);
});

test.each(["x", "01:00:5e:10:00", "x1:00:5e:10:00:01", "01:no"])(
  "of %s, which cannot be used, it is told what is wanted, and no more",
  (value) => {
    expect(failure(() => read({ hwAddr: value }))).toEqual({
      code: 104,
      message: `read annotation "cni.netplug.io/hwAddr" of pod "prod/web-0": got "${value}", want a unicast MAC address such as 02:00:5e:10:00:01`,
    });
  },
);

describe("code 104 for", () => {
  test.each<[string, string, string]>([
    ["ipAddrs", "10.65.0.7", "want a JSON list of one IPv4 address, one IPv6 address, or one of each"],
    ["ipAddrs", "[]", "want a JSON list of one IPv4"],
    ["ipAddrs", '"10.65.0.7"', 'it is "10.65.0.7"'],
    ["ipAddrs", "{}", "it is an object"],
    ["ipAddrs", "null", "it is null"],
    ["ipAddrs", '["10.65.0.7/32"]', 'entry 1 is "10.65.0.7/32"'],
    ["ipAddrs", '["10.65.0.7", "fd00::1", "nonsense"]', 'entry 3 is "nonsense"'],
    ["ipAddrs", '["10.65.0.7", 7]', "entry 2 is 7"],
    ["ipAddrs", '["10.65.0.7", ""]', 'entry 2 is ""'],
    ["ipAddrs", '["10.65.0.7", "10.65.0.8"]', "it has 2 IPv4 addresses"],
    ["ipAddrs", '["fd00::1", "fd00::2"]', "it has 2 IPv6 addresses"],
    ["ipAddrs", '["010.65.0.7"]', 'entry 1 is "010.65.0.7"'],
    ["ipAddrsByPod", '{"web-1": ["10.65.0.7"]}', 'want an entry "web-0"'],
    ["ipAddrsNoIpam", "[]", "want a JSON list of one IPv4"],
    ["ipAddrsNoIpam", '["10.0.0.1", "10.0.0.2"]', "it has 2 IPv4 addresses"],
    ["ipAddrsNoIpam", '["127.0.0.1"]', '"127.0.0.1" is none'],
    ["floatingIPs", "[]", "want a JSON list of addresses"],
    ["floatingIPs", '["192.0.2.0/24"]', 'entry 1 is "192.0.2.0/24"'],
    ["floatingIPs", '["127.0.0.1"]', "want addresses that a pod can have"],
    ["ipv4pools", "blue", 'want a JSON list of pool names or CIDRs such as ["blue", "10.65.0.0/16"]: it is no JSON'],
    ["ipv4pools", "[blue]", ": line 1, column 2: want a value, in double quotes if it is text"],
    ["ipAddrs", "10.65.0.7", 'such as ["10.65.0.7"]: it is no JSON'],
    ["ipAddrsByPod", "10.65.0.7", ": it is no JSON"],
    ["ipv4pools", '["blue", null]', "entry 2 is null"],
    ["ipv6pools", '[""]', 'entry 1 is ""'],
    ["ipv6pools", '[["blue"]]', "entry 1 is a list"],
    ["ipFamilies", "[]", 'want a JSON list of "IPv4", "IPv6" or both'],
    ["ipFamilies", '["ipv4"]', 'entry 1 is "ipv4"'],
    ["ipFamilies", "IPv4", 'want a JSON list of "IPv4"'],
    ["hwAddr", "02:00:5e:10:00", "want a unicast MAC address"],
    ["hwAddr", "01:00:5e:10:00:01", "such as 02:00:5e:10:00:01: with an odd first octet it is multicast"],
    ["hwAddr", "FF-FF-FF-FF-FF-FF", "such as 02:00:5e:10:00:01: with an odd first octet it is multicast"],
    ["hwAddr", '["02:00:5e:10:00:01"]', "want a unicast MAC address"],
    ["hwAddr", "EE:EE:EE:EE:EE:EE", "that is not the host side's"],
    ["allowedSourcePrefixes", '["10.0.0.1"]', 'entry 1 is "10.0.0.1"'],
    ["allowedSourcePrefixes", '["10.0.0.0/8", "10.0.0.0/33"]', 'entry 2 is "10.0.0.0/33"'],
    ["allowedSourcePrefixes", "10.0.0.0/8", "want a JSON list of CIDRs"],
  ])("%s %s", (annotation, value, reason) => {
    const { code, message } = failure(() => read({ [annotation]: value }));
    expect(code).toBe(104);
    expect(message).toStartWith(`read annotation "cni.netplug.io/${annotation}" of pod "prod/web-0": got ${shownValue(value)}, want `);
    expect(message).toContain(reason);
  });

  test.each(["ipv4pools", "ipv6pools", "ipFamilies"])("%s of the namespace, naming the pod too", (annotation) => {
    const { code, message } = failure(() => read({}, { [annotation]: "x" }));
    expect(code).toBe(104);
    expect(message).toStartWith(`read annotation "cni.netplug.io/${annotation}" of namespace "prod" for pod "prod/web-0": got "x", want `);
  });

  test.each([
    ["ipAddrsByPod", "ipAddrs"],
    ["ipAddrsNoIpam", "ipAddrsByPod"],
  ])("%s and %s together", (second, first) => {
    const { code, message } = failure(() => read({ [first]: "x", [second]: "y" }));
    expect([code, message]).toEqual([
      104,
      expect.stringContaining(`got "y" together with "cni.netplug.io/${first}" "x", want one of the two`),
    ]);
  });

  test("addresses through and without IPAM together, whatever the gate and the values", () => {
    const closed = { ...CONFIG, featureControl: { ipAddrsNoIpam: false, floatingIPs: false } };
    for (const config of [CONFIG, closed, FOREIGN]) {
      for (const value of ['["10.0.0.1"]', "x"]) {
        const { code, message } = failure(() => read({ ipAddrs: '["10.65.0.7"]', ipAddrsNoIpam: value }, {}, config));
        expect(code).toBe(104);
        expect(message).toContain(`got ${shownValue(value)} together with "cni.netplug.io/ipAddrs" '["10.65.0.7"]', want one of the two`);
      }
    }
  });

  test("a value of any length, which the message cuts after 200 characters", () => {
    const { message } = failure(() => read({ ipAddrs: `["${"x".repeat(100_000)}"]` }));
    expect(message.length).toBeLessThan(800);
    expect(message).toContain(`${"x".repeat(190)}`);
    expect(message).toContain("(100004 characters)");
  });
});

describe("code 105 for", () => {
  test.each([
    ["ipAddrsNoIpam", '["10.0.0.1"]', "feature_control.ip_addrs_no_ipam"],
    ["floatingIPs", '["192.0.2.1"]', "feature_control.floating_ips"],
  ])("%s while its gate is closed", (annotation, value, key) => {
    const { code, message } = failure(() =>
      read({ [annotation]: value }, {}, { ...CONFIG, featureControl: { ipAddrsNoIpam: false, floatingIPs: false } }),
    );
    expect(code).toBe(105);
    expect(message).toStartWith(`use annotation "cni.netplug.io/${annotation}" of pod "prod/web-0": got ${shownValue(value)}, `);
    expect(message).toContain(`set "${key}" to true`);
  });

  test.each([
    ["ipAddrs", '["10.0.0.1"]'],
    ["ipAddrsByPod", '{"web-0": ["10.0.0.1"]}'],
    ["ipAddrsNoIpam", '["10.0.0.1"]'],
    ["ipv4pools", '["blue"]'],
    ["ipv6pools", '["blue"]'],
    ["ipFamilies", '["IPv4"]'],
  ])("%s with another IPAM plugin", (annotation, value) => {
    const { code, message } = failure(() => read({ [annotation]: value }, {}, FOREIGN));
    expect(code).toBe(105);
    expect(message).toContain('"ipam.type" is "host-local", want "netplug-ipam"');
  });

  test("pools of the namespace with another IPAM plugin", () => {
    const { code, message } = failure(() => read({}, { ipv4pools: '["blue"]' }, FOREIGN));
    expect(code).toBe(105);
    expect(message).toContain('of namespace "prod" for pod "prod/web-0"');
  });

  test("nothing that needs no address management", () => {
    const request = read(
      { hwAddr: "02:00:5e:10:00:01", floatingIPs: '["192.0.2.1"]', allowedSourcePrefixes: '["10.0.0.0/8"]' },
      {},
      FOREIGN,
    );
    expect(texts(request)).toMatchObject({ mac: "02:00:5e:10:00:01", floatingIPs: ["192.0.2.1"], allowedSourcePrefixes: ["10.0.0.0/8"] });
  });
});

describe("whatever an annotation holds,", () => {
  const name = fc.constantFrom(
    "ipv4pools",
    "ipv6pools",
    "ipFamilies",
    "ipAddrs",
    "ipAddrsByPod",
    "ipAddrsNoIpam",
    "floatingIPs",
    "hwAddr",
    "allowedSourcePrefixes",
  );
  const value = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.json({ maxDepth: 3 }),
    fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constant(null)), { maxLength: 3 }).map((list) => JSON.stringify(list)),
    fc.nat(200).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
    fc.constantFrom('{"__proto__":[]}', "[,]", "[1e999]", '["\\ud800"]', "\u0000"),
  );

  test("it is taken, or refused with one line that names pod, annotation and value", () => {
    fc.assert(
      fc.property(name, value, fc.constantFrom(CONFIG, FOREIGN), fc.boolean(), (annotation, text, config, isOnPod) => {
        let message: string;
        try {
          if (isOnPod) read({ [annotation]: text }, {}, config);
          else read({}, { [annotation]: text }, config);
          return;
        } catch (thrown) {
          if (!(thrown instanceof NetplugError)) throw thrown;
          expect([104, 105]).toContain(thrown.code);
          message = thrown.message;
        }
        expect(message).toContain('pod "prod/web-0"');
        expect(message).toContain(`"cni.netplug.io/${annotation}"`);
        expect(message).toMatch(/got ["']/);
        expect(message).not.toMatch(/[\n\r\u0000-\u001f\u007f\u2028\u2029]/);
        expect(message.length).toBeLessThan(4_000);
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test("two addresses of different families are read as another parser reads them", () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV6(), fc.boolean(), (v4, v6, isSwapped) => {
        fc.pre(!v6.includes(".")); // IPv4 written inside of IPv6 is not ours
        const list = isSwapped ? [v6, v4] : [v4, v6];
        const { addresses } = texts(read({ ipAddrs: JSON.stringify(list) }));
        expect(addresses.map((address) => ipaddr.parse(address).toNormalizedString())).toEqual(
          list.map((address) => ipaddr.parse(address).toNormalizedString()),
        );
      }),
      { seed, numRuns: 500 },
    );
  });

  test("prefixes are the networks that another parser computes", () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.nat(32), (address, length) => {
        const [prefix] = texts(read({ allowedSourcePrefixes: JSON.stringify([`${address}/${length}`]) })).allowedSourcePrefixes;
        expect(prefix).toBe(`${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${length}`).toString()}/${length}`);
      }),
      { seed, numRuns: 500 },
    );
  });

  test("the pod's own value hides the namespace's", () => {
    const lists = fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(lists, value, fc.constantFrom(4, 6), (pools, hidden, family) => {
        const key = `ipv${family}pools`;
        expect(read({ [key]: JSON.stringify(pools) }, { [key]: hidden }).pools[family]).toEqual([...new Set(pools)]);
      }),
      { seed, numRuns: 300 },
    );
  });
});
