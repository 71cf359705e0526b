import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../test/support/seed.ts";
import { type AnnotationConfig, readPodRequest } from "../../../endpoint/annotations/read-pod-request.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import { toShownNATs, toShownSources } from "./annotation-fields.ts";

const NETWORKS = ["10.65.0.7/32", "fd65::7/128"];

test("each floating address leads to the endpoint's address of its family, once", () => {
  const nats = (value: string | undefined, networks = NETWORKS) =>
    toShownNATs(value === undefined ? {} : { "cni.netplug.io/floatingIPs": value }, networks);
  expect(nats('["192.0.2.9", "2001:DB8::9", "192.0.2.9"]')).toEqual([
    { internalIP: "10.65.0.7", externalIP: "192.0.2.9" },
    { internalIP: "fd65::7", externalIP: "2001:db8::9" },
  ]);
  expect(nats('["192.0.2.9", "2001:db8::9"]', ["fd65::7/128"])).toEqual([{ internalIP: "fd65::7", externalIP: "2001:db8::9" }]);
  expect(nats('["192.0.2.9"]', [])).toEqual([]);
  for (const value of [
    undefined,
    "",
    "x",
    "{}",
    "[7]",
    '["192.0.2.9", "x"]',
    '["192.0.2.0/24"]',
    "[]",
    '[""]',
    '["127.0.0.1"]',
    '["192.0.2.9", "ff02::1"]',
  ]) {
    expect(nats(value)).toEqual([]);
  }
});

test("source prefixes lose their host bits, and one that is repeated by then is shown once", () => {
  const prefixes = (value: string) => toShownSources({ "cni.netplug.io/allowedSourcePrefixes": value });
  expect(prefixes('["198.51.100.7/24", "fd00::1/8"]')).toEqual(["198.51.100.0/24", "fd00::/8"]);
  expect(prefixes('["198.51.100.7/24", "fd00::/8", "198.51.100.0/24"]')).toEqual(["198.51.100.0/24", "fd00::/8"]);
  for (const value of ["", "x", "[]", '["10.0.0.0/8", "10.0.0.1"]']) expect(prefixes(value)).toEqual([]);
});

test("whatever a pod's annotations say, its endpoint shows what an ADD would take, and nothing of what an ADD refuses", () => {
  const entry = fc.oneof(
    fc.constantFrom("192.0.2.9", "2001:db8::9", "10.0.0.0/8", "fd00::1/8", "0.0.0.0", "127.0.0.1", "224.0.0.1", "fe80::1", "::", "x", ""),
    fc.ipV4(),
    fc.ipV6(),
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.array(entry, { maxLength: 3 }).map((entries) => JSON.stringify(entries)) },
    { weight: 1, arbitrary: fc.constantFrom("", "x", "{}", "[7]", "null", '"192.0.2.9"', "[[]]") },
  );
  const config: AnnotationConfig = {
    ipam: { type: "netplug-ipam", isOwn: true },
    families: [4, 6],
    pools: {},
    featureControl: { ipAddrsNoIpam: true, floatingIPs: true },
  };
  fc.assert(
    fc.property(value, fc.boolean(), (text, isFloating) => {
      const annotations = { [`cni.netplug.io/${isFloating ? "floatingIPs" : "allowedSourcePrefixes"}`]: text };
      let taken: readonly string[] = [];
      try {
        const request = readPodRequest({ namespace: "default", name: "web", annotations }, {}, config);
        taken = isFloating ? request.floatingIPs.map(toAddressText) : request.allowedSourcePrefixes.map(toPrefixText);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 104 });
      }
      const shown = isFloating ? toShownNATs(annotations, NETWORKS).map(({ externalIP }) => externalIP) : toShownSources(annotations);
      expect(shown).toEqual(taken);
    }),
    { seed: testSeed(), numRuns: 1_000 },
  );
});
