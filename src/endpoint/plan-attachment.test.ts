import { describe, expect, test } from "bun:test";
import { attachmentRequest } from "../../test/support/calls/attachment-request.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { parsePrefix, toPrefixText } from "../lib/ip/prefix.ts";
import type { MacAddress } from "../lib/mac-address.ts";
import { type AttachmentFacts, type AttachmentRequest, type CompleteRecord, planAttachment } from "./plan-attachment.ts";
import { toPodEndpoint } from "./pod-endpoint.ts";

const NOW = 1_700_000_000;
const REQUEST = attachmentRequest("n1", { containerID: "c1", ifName: "eth0", pod: undefined });
const NOTHING: AttachmentFacts = { record: undefined, hasProfile: false, now: NOW };
const V4 = parseAddress("10.65.0.7");
const V6 = parseAddress("fd65::7");

function routesOf(change: Partial<AttachmentRequest>, addresses = [V4, V6]): readonly string[] {
  return planAttachment({ ...REQUEST, ...change }, addresses, NOTHING).link.routes.map(toPrefixText);
}

describe("the link", () => {
  test("bears the attachment's names, and a MAC that follows from them", () => {
    const { link } = planAttachment(REQUEST, [V4], NOTHING);
    // Digits of sha1sum: of "c1"; of "c1", a line feed and "eth0", with the bits of a local unicast address.
    expect(link).toMatchObject({ hostName: "npg2f22765d049", podName: "eth0", alias: "netplug:pods:c1:eth0" });
    expect<string>(link.podMac).toBe("1a:e1:32:fc:cd:08");
    expect(planAttachment(REQUEST, [V6], NOTHING).link.podMac).toBe(link.podMac);
    const other = { ...REQUEST, workload: { ...REQUEST.workload, ifName: "net1" } };
    expect(planAttachment(other, [V4], NOTHING).link.podMac).not.toBe(link.podMac);
  });

  test("has the MAC that is asked for", () => {
    const mac = "02:00:5e:10:00:01" as MacAddress;
    expect(planAttachment({ ...REQUEST, mac }, [V4], NOTHING)).toMatchObject({ link: { podMac: mac }, endpoint: { spec: { mac } } });
  });

  test.each([
    [[V4], ["0.0.0.0/0"]],
    [[V6], ["::/0"]],
    [
      [V4, V6],
      ["0.0.0.0/0", "::/0"],
    ],
  ])("has the default routes of its families", (addresses, routes) => expect(routesOf({}, addresses)).toEqual(routes));

  test("has only the routes that are listed, each once, of its families, and never one to the next hop", () => {
    const listed = ["10.0.0.0/8", "fd00::/8", "10.0.0.0/8", "169.254.1.1/32", "fe80::ecee:eeff:feee:eeee/128"].map(parsePrefix);
    expect(routesOf({ routes: listed })).toEqual(["10.0.0.0/8", "fd00::/8"]);
    expect(routesOf({ routes: listed }, [V4])).toEqual(["10.0.0.0/8"]);
    expect(routesOf({ routes: [] })).toEqual([]);
  });

  test("has the default routes besides, when they are asked for", () => {
    const listed = ["10.0.0.0/8", "::/0"].map(parsePrefix);
    expect(routesOf({ routes: listed, includeDefaultRoutes: true })).toEqual(["10.0.0.0/8", "::/0", "0.0.0.0/0"]);
  });

  test("needs an MTU of 1280 for IPv6, and none for IPv4", () => {
    expect(() => planAttachment({ ...REQUEST, mtu: 1279 }, [V4, V6], NOTHING)).toThrow(
      'set MTU of "eth0": got 1279, want 1280 or more for IPv6; correct "mtu", or without it the file "mtu" of "lib_dir"',
    );
    expect(planAttachment({ ...REQUEST, mtu: 1280 }, [V6], NOTHING).link.mtu).toBe(1280);
    expect(planAttachment({ ...REQUEST, mtu: 68 }, [V4], NOTHING).link.mtu).toBe(68);
  });
});

describe("a pod of Kubernetes", () => {
  const workload = { containerID: "c1", ifName: "eth0", pod: { namespace: "shop", name: "web-0" } };
  const fields = { labels: { app: "web" }, generateName: "web-", serviceAccountName: "seller", profiles: ["kns.shop"], ports: [] };
  const podRequest = { floatingIPs: [parseAddress("192.0.2.7")], allowedSourcePrefixes: [parsePrefix("198.51.100.0/24")] };
  const completeRecord: CompleteRecord = (plain) => toPodEndpoint(plain, fields, podRequest);
  const request: AttachmentRequest = { ...REQUEST, workload, labels: { from: "config" }, completeRecord };

  test("brings labels, profiles and its request to its record, and its network has no profile", () => {
    const { writes, endpoint } = planAttachment(request, [V4], NOTHING);
    expect(writes).toMatchObject([{ op: "create", resource: { kind: "WorkloadEndpoint" } }]);
    expect(endpoint.metadata.labels).toEqual({ app: "web" });
    expect(endpoint.spec).toMatchObject({
      profiles: ["kns.shop"],
      serviceAccountName: "seller",
      ipNATs: [{ internalIP: "10.65.0.7", externalIP: "192.0.2.7" }],
      allowSpoofedSourcePrefixes: ["198.51.100.0/24"],
    });
  });

  test("whose request does not fit its addresses is refused", () => {
    expect(() => planAttachment(request, [V6], NOTHING)).toThrow(
      'use annotation "cni.netplug.io/floatingIPs" of pod "shop/web-0": got "192.0.2.7", and the pod has no IPv4 address for it',
    );
  });
});

describe("the writes", () => {
  test("create the record, and the network's profile when there is none", () => {
    const { writes } = planAttachment(REQUEST, [V4], NOTHING);
    expect(writes).toMatchObject([
      { op: "create", resource: { kind: "Profile", metadata: { name: "pods" } } },
      { op: "create", resource: { kind: "WorkloadEndpoint", metadata: { creationTimestamp: "2023-11-14T22:13:20Z" } } },
    ]);
    expect(planAttachment(REQUEST, [V4], { ...NOTHING, hasProfile: true }).writes).toHaveLength(1);
  });

  test("are none when the record says the same already", () => {
    const { endpoint } = planAttachment(REQUEST, [V4], NOTHING);
    const stored = { value: { ...endpoint, metadata: { ...endpoint.metadata, uid: "u1" } }, revision: "7" as never };
    expect(planAttachment(REQUEST, [V4], { record: stored, hasProfile: true, now: NOW }).writes).toEqual([]);
  });

  test("bring other labels to a record that is the same besides: policy follows them", () => {
    const { endpoint } = planAttachment(REQUEST, [V4], NOTHING);
    const stored = { value: { ...endpoint, metadata: { ...endpoint.metadata, uid: "u1" } }, revision: "7" as never };
    const labels = { app: "web" };
    const { writes } = planAttachment({ ...REQUEST, labels }, [V4], { record: stored, hasProfile: true, now: NOW });
    expect(writes).toMatchObject([{ op: "update", revision: "7", resource: { metadata: { uid: "u1", labels } } }]);
    expect(writes[0]).not.toHaveProperty("resource.metadata.annotations");
  });

  test("take over the record of an earlier container of the pod, by its revision, and keep its UID and annotations", () => {
    const pod = { namespace: "shop", name: "web-0" };
    const before = planAttachment({ ...REQUEST, workload: { ...REQUEST.workload, containerID: "old", pod } }, [V4], NOTHING).endpoint;
    const metadata = { ...before.metadata, uid: "u1", resourceVersion: "7", annotations: { note: "kept" } };
    const endpoint = { value: { ...before, metadata }, revision: "7" as never };
    const now = { ...REQUEST, workload: { ...REQUEST.workload, containerID: "new", pod } };
    const [write] = planAttachment(now, [V6], { record: endpoint, hasProfile: true, now: NOW }).writes;
    expect(write).toMatchObject({
      op: "update",
      revision: "7",
      resource: {
        metadata: { uid: "u1", annotations: { note: "kept" } },
        spec: { containerID: "new", ipNetworks: ["fd65::7/128"] },
      },
    });
    expect(write).not.toHaveProperty("resource.metadata.resourceVersion");
  });

  test("are refused where two containers without a pod come to the same name: that of a live one is not taken over", () => {
    const of = (containerID: string, ifName: string): AttachmentRequest => ({
      ...REQUEST,
      workload: { containerID, ifName, pod: undefined },
    });
    const { endpoint } = planAttachment(of("c1-", "x"), [V4], NOTHING);
    const facts = { record: { value: endpoint, revision: "7" as never }, hasProfile: true, now: NOW };
    expect(() => planAttachment(of("c1", "-x"), [V6], facts)).toThrow(
      'record endpoint "n1-cni-c1---x": it is interface "x" of container "c1-"; choose another interface name',
    );
    expect(planAttachment(of("c1-", "x"), [V4], facts).writes).toEqual([]);
  });

  test("say whether the addresses are of another management, and no longer when they are not", () => {
    const { endpoint } = planAttachment({ ...REQUEST, hasOtherIpam: true }, [V4], NOTHING);
    expect(endpoint.metadata.annotations).toEqual({ "netplug.io/ipam": "other" });
    const metadata = { ...endpoint.metadata, annotations: { ...endpoint.metadata.annotations, note: "kept" } };
    const past = { record: { value: { ...endpoint, metadata }, revision: "7" as never }, hasProfile: true, now: NOW };
    const annotationsOf = (change: Partial<AttachmentRequest>): unknown => {
      const [write] = planAttachment({ ...REQUEST, ...change }, [V6], past).writes;
      return write !== undefined && "resource" in write ? write.resource.metadata.annotations : undefined;
    };
    expect(annotationsOf({ hasOtherIpam: true })).toEqual({ "netplug.io/ipam": "other", note: "kept" });
    expect(annotationsOf({})).toEqual({ note: "kept" });
  });
});
