import { afterAll, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/lib/clock.ts";
import { Fd } from "../../src/linux/fd.ts";
import { eventually } from "../support/time/eventually.ts";
import { addUsableLink, unusable } from "./support/add.ts";
import { NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

const NEXT_HOP = "fe80::ecee:eeff:feee:eeee";
const link = podLink("ctr", { addresses: ["10.65.0.7", "fd00:65::7"] });

describe("whenUsable()", () => {
  test("ends when both ends send, the addresses are the kernel's own, and neighbours can ask for them", async () => {
    using node = new NamespacedNode();
    for (let i = 0; i < 20; i++) {
      const pod = node.addPlace(`p${i}`);
      const one = podLink(`ctr-${i}`, { addresses: [`10.65.0.${i + 1}`, `fd00:65::${i + 1}`] });
      await addUsableLink(node, pod, one);
      expect(node.ipJson(pod, "-6 route show table local").map((route) => route["dst"])).toContain(`fd00:65::${i + 1}`);
      expect(node.ipJson(node.host, `-6 route show table local dev ${one.hostName}`).map((route) => route["dst"])).toContain(NEXT_HOP);
      // The group in which a neighbour asks, RFC 4291 §2.7.1.
      const groups = node.ipJson(pod, "-6 maddr show dev eth0").flatMap((shown) => shown["maddr"] as { readonly address?: string }[]);
      expect(groups.map(({ address }) => address)).toContain(`ff02::1:ff00:${i + 1}`);
      expect(node.ipJson(pod, "link show eth0")).toMatchObject([{ operstate: "UP" }]);
      expect(node.ipJson(node.host, `link show ${one.hostName}`)).toMatchObject([{ operstate: "UP" }]);
    }
  });

  test("names an address that is not the pod's yet, and waits for it", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    await addUsableLink(node, pod, link);
    node.ip(pod, "-6 route del local fd00:65::7 dev eth0 table local");
    expect(await unusable(node, pod, link)).toEqual(['address "fd00:65::7" of interface "eth0"']);

    let looks = 0;
    const clock = {
      monotonic: () => systemClock.monotonic(),
      sleep: async (ms: number) => {
        if (++looks === 3) node.ip(pod, "-6 route add local fd00:65::7 dev eth0 table local");
        await systemClock.sleep(ms);
      },
    };
    expect(await unusable(node, pod, link, clock, 60_000)).toEqual([]);
    expect(looks).toBe(3);
  });

  test("looks once more when there is no time to wait: the first look may have been long ago", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    await addUsableLink(node, pod, link);
    node.ip(pod, "-6 route del local fd00:65::7 dev eth0 table local");
    let isMended = false;
    const clock = {
      monotonic: () => {
        // What asks for the time has looked before.
        if (!isMended) node.ip(pod, "-6 route add local fd00:65::7 dev eth0 table local");
        isMended = true;
        return 0;
      },
      sleep: () => Promise.reject(new Error("there is no time to wait")),
    };
    expect(await unusable(node, pod, link, clock, 0)).toEqual([]);
  });

  test("does not wait where the kernel keeps local routes in the main table, as one without IPv6 policy routing does", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    await addUsableLink(node, pod, link);
    node.ip(pod, "-6 route add local fd00:65::7 dev eth0 table main metric 1");
    node.ip(pod, "-6 route del local fd00:65::7 dev eth0 table local");
    expect(node.ipJson(pod, "-6 route get fd00:65::7 fibmatch oif eth0")).toMatchObject([{ type: "local", table: "main" }]);
    expect(await unusable(node, pod, link)).toEqual([]);
  });

  test("does not take another pod's next hop on the host for this one's", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const other = node.addPlace("b");
    await addUsableLink(node, pod, link);
    await addUsableLink(node, other, podLink("ctr-b", { addresses: ["fd00:65::8"] }));
    node.ip(node.host, `-6 route del local ${NEXT_HOP} dev ${link.hostName} table local`);
    expect(await unusable(node, pod, link)).toEqual([`address "${NEXT_HOP}" of interface "${link.hostName}"`]);
  });

  test("names both ends when the other one is down", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const v4 = podLink("ctr");
    await addUsableLink(node, pod, v4);
    node.ip(pod, "link set eth0 down");
    // Linux 5.10 shows the other end's state up to a second later
    await eventually(async () => expect(await unusable(node, pod, v4)).toEqual(['interface "eth0"', `interface "${v4.hostName}"`]));
  });
});
