import { expect, test } from "bun:test";
import { withPoolDefaults } from "../../../api/ip-pool.ts";
import type { Resource } from "../../../api/resource.ts";
import type { Revision, Stored } from "../../../datastore/datastore.ts";
import { parsePrefix } from "../../../lib/ip/prefix.ts";
import { poolsOverServices } from "./pools-over-services.ts";

const SERVICES = ["10.96.0.0/16", "fd96::/112"].map((cidr) => ({ name: "kubernetes", cidr: parsePrefix(cidr) }));

/** What a pool is warned to overlap. */
function overlapped(cidr: string, spec: object = {}, ...reserved: readonly string[]): readonly string[] {
  const pool = { name: "x", cidr: parsePrefix(cidr), spec: withPoolDefaults({ cidr, ...spec }) };
  const value: Resource = {
    apiVersion: "netplug.io/v3",
    kind: "IPReservation",
    metadata: { name: "r" },
    spec: { reservedCIDRs: reserved },
  };
  const stored: Stored<Resource> = { value, revision: "1" as Revision };
  return poolsOverServices([pool], SERVICES, [stored]).map(({ detail }) => /^it overlaps (\S+) /.exec(detail)?.[1] ?? detail);
}

test("a pool is compared with the Services of its own family", () => {
  expect(overlapped("fd96::/64")).toEqual(["fd96::/112"]);
  expect(overlapped("::/0")).toEqual(["fd96::/112"]);
  expect(overlapped("0.0.0.0/0")).toEqual(["10.96.0.0/16"]);
  expect(overlapped("10.97.0.0/16")).toEqual([]);
});

test("what both have may be reserved in parts", () => {
  expect(overlapped("fd96::/64", {}, "fd96::/113")).toEqual(["fd96::/112"]);
  expect(overlapped("fd96::/64", {}, "fd96::/113", "fd96::8000/113")).toEqual([]);
  expect(overlapped("10.96.4.0/24", {}, "10.96.0.0/20")).toEqual([]);
});

test("pods get no addresses of a pool that is disabled, or for tunnels only", () => {
  expect(overlapped("10.96.4.0/24", { disabled: true })).toEqual([]);
  expect(overlapped("10.96.4.0/24", { allowedUses: ["Tunnel"] })).toEqual([]);
});
