/** Delegation to the real `host-local` of the CNI project. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { delegateAdd, delegateCheck, delegateDel, delegateGc, delegateStatus } from "../../src/cni/delegate/mod.ts";
import type { Delegate } from "../../src/cni/delegate/mod.ts";
import { toResultDocument } from "../../src/cni/protocol/print-result.ts";
import { delegateCall, delegatePorts as ports } from "../support/calls/delegate.ts";
import { failureOf } from "../support/failure-of.ts";

const PLUGIN_FOLDER = "/usr/lib/cni";
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "npgt-host-local-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function call(type: string, config: Record<string, unknown>): Delegate {
  return delegateCall(type, config, { cniPath: PLUGIN_FOLDER });
}

const ipam = (dataDir: string): Record<string, unknown> => ({
  ipam: { type: "host-local", dataDir, ranges: [[{ subnet: "10.7.0.0/24", gateway: "10.7.0.2" }], [{ subnet: "fd07::/120" }]] },
});
const reserved = (dataDir: string): string[] =>
  readdirSync(join(dataDir, "net"))
    .filter((name) => !/lock|last_/.test(name))
    .toSorted();

test("gives an address of each range, ignoring the range's gateway, and releases them", async () => {
  const dataDir = join(folder, "hl-plain");
  const attachment = call("host-local", ipam(dataDir));
  const result = await delegateAdd(attachment);
  // 10.7.0.2 would be skipped if host-local had seen it as gateway.
  expect(result.ips).toMatchObject([{ address: "10.7.0.2/24" }, { address: "fd07::2/120" }]);
  await delegateCheck({ ...attachment, config: { ...attachment.config, prevResult: toResultDocument(result, "1.0.0") } });
  expect(reserved(dataDir)).toEqual(["10.7.0.2", "fd07::2"]);
  await delegateDel(attachment);
  await delegateDel(attachment);
  expect(reserved(dataDir)).toEqual([]);
});

test("is called in the highest version that both know when it does not know the config's", async () => {
  const dataDir = join(folder, "hl-version");
  const supported = Bun.spawnSync([join(PLUGIN_FOLDER, "host-local")], {
    env: { CNI_COMMAND: "VERSION" },
    stdin: new Blob(["{}"]),
  }).stdout.toString();
  const highest = (JSON.parse(supported) as { supportedVersions: string[] }).supportedVersions.toSorted().at(-1) ?? "";
  const attachment = call("host-local", { ...ipam(dataDir), cniVersion: "1.1.0" });
  const used = ports();
  const result = await delegateAdd({ ...attachment, ports: used });
  expect(result.ips).toHaveLength(2);
  expect(used.records.map(({ fields }) => fields["agreed"])).toEqual(highest === "1.1.0" ? [] : [highest]);
  const prevResult = toResultDocument({ ...result, interfaces: [{ name: "eth0", mtu: 1500 }] }, "1.1.0");
  await delegateCheck({ ...attachment, config: { ...attachment.config, prevResult } });
  await delegateDel(attachment);
  expect(reserved(dataDir)).toEqual([]);
  // A runtime names no container then, of which an older host-local complains before it looks at the verb.
  const { CNI_CONTAINERID: _id, CNI_IFNAME: _name, CNI_NETNS: _netns, ...environment } = attachment.environment;
  await delegateStatus({ ...attachment, environment });
  await delegateGc({ ...attachment, environment });
});

test("refuses with its own code and message, and keeps nothing of an ADD that it could do only in half", async () => {
  const dataDir = join(folder, "hl-full");
  const config = { ipam: { type: "host-local", dataDir, ranges: [[{ subnet: "10.8.0.0/30" }], [{ subnet: "10.9.0.0/30" }]] } };
  const first = call("host-local", config);
  await delegateAdd(first);
  const second = { ...first, environment: { ...first.environment, CNI_CONTAINERID: "container-2" } };
  const failure = await failureOf(delegateAdd(second));
  expect(failure.code).toBe(111);
  expect(failure.message).toMatch(/^ADD by delegate "host-local" failed: .*no IP addresses available in range set/);
  expect(failure.details).toMatch(/^code 999: /);
  expect(reserved(dataDir)).toEqual(["10.8.0.2", "10.9.0.2"]);
});

test("releases without knowing the node's pod CIDR", async () => {
  const dataDir = join(folder, "hl-words");
  const attachment = call("host-local", ipam(dataDir));
  await delegateAdd(attachment);
  const words = { ipam: { type: "host-local", dataDir, ranges: [[{ subnet: "usePodCidr" }], [{ subnet: "USEPODCIDRIPV6" }]] } };
  const prevResult = { cniVersion: "1.0.0", ips: [{ address: "10.7.0.2/24" }] };
  await delegateCheck(call("host-local", { ...words, prevResult }));
  expect(reserved(dataDir)).toHaveLength(2);
  await delegateDel(call("host-local", words));
  expect(reserved(dataDir)).toEqual([]);
});
