import { afterAll, describe, expect, test } from "bun:test";
import { beginRemoval } from "../../src/cni/link/remove.ts";
import { linuxKernel } from "../../src/cni/link/kernel.ts";
import { Fd } from "../../src/linux/fd.ts";
import { addLink, inspect } from "./support/add.ts";
import { type FaultMoment, faultyKernel } from "./support/faulty-kernel.ts";
import { NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

const LINK = podLink("ctr", { addresses: ["10.65.0.7", "fd00:65::7"] });
/** More than an ADD has; the test ends at the first that is not reached. */
const MAX_STEPS = 50;

describe.each<FaultMoment>(["before", "after", "between"])("a fault %s a step of an ADD", (moment) => {
  test("leaves no interface, no route and nothing open; the next ADD succeeds", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    let steps = 0;
    for (; steps < MAX_STEPS; steps++) {
      const { kernel, hasFailed } = faultyKernel(steps + 1, moment);
      const open = Fd.openCount();
      const failure = tryAdd(() => addLink(node, pod, LINK, kernel));
      if (!hasFailed()) break;
      expect(failure).toMatchObject({ kind: "kernelRefused", object: "fault" });
      expect([node.links(node.host), node.links(pod), Fd.openCount()]).toEqual([[], [], open]);
    }
    // Opening, comparing, two sockets, both looks, creation, alias, settings of two sides, the look for gateways, programming of two sides, the last look.
    expect(steps).toBe(14);
    expect(inspect(node, pod, LINK)).toEqual([]);
  });

  test("of a DEL is made good by the next DEL", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    for (let step = 1; step < MAX_STEPS; step++) {
      addLink(node, pod, LINK);
      const { kernel, hasFailed } = faultyKernel(step, moment);
      const failure = tryAdd(() => void node.onHost(() => beginRemoval(kernel, LINK, pod.path).finish()));
      if (!hasFailed()) {
        expect(failure).toBeUndefined();
        expect(step).toBe(5);
        return;
      }
      expect(failure).toMatchObject({ object: "fault" });
      node.onHost(() => beginRemoval(linuxKernel, LINK, pod.path).finish());
      expect([node.links(node.host), node.links(pod)]).toEqual([[], []]);
    }
    throw new Error("the fault was reached every time");
  });
});

test("a namespace that vanishes while the link is set up fails the ADD and leaves nothing", () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  const vanishing = {
    ...linuxKernel,
    writeSysctls: (...args: Parameters<typeof linuxKernel.writeSysctls>) => {
      if (args[1] !== undefined) {
        node.deletePlace(pod);
        node.ip(node.host, `link del ${LINK.hostName}`);
      }
      linuxKernel.writeSysctls(...args);
    },
  };
  expect(() => addLink(node, pod, LINK, vanishing)).toThrow(expect.objectContaining({ kind: "kernelRefused" }));
  expect(node.links(node.host)).toEqual([]);
});

test.each([
  ["a name that the kernel does not allow", { podName: "with/slash" }, /^create veth "npg.*": EINVAL/],
  ["an MTU that it does not allow", { mtu: 20 }, /^create veth "npg.*": EINVAL/],
  ["more queues than it has", { queues: 100_000 }, /^create veth "npg.*": (EINVAL|ERANGE|ENOMEM)/],
])("%s is refused with the kernel's reason", (_, more, message) => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  expect(() => addLink(node, pod, podLink("ctr", more))).toThrow(
    expect.objectContaining({ kind: "kernelRefused", message: expect.stringMatching(message) }),
  );
  expect([node.links(node.host), node.links(pod)]).toEqual([[], []]);
});

test("an alias that does not fit is refused before anything is done", () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  expect(() => addLink(node, pod, podLink("ctr", { alias: `netplug:${"n".repeat(300)}:ctr:eth0` }))).toThrow(
    expect.objectContaining({ kind: "invalidConfig" }),
  );
  expect(node.links(node.host)).toEqual([]);
});

function tryAdd(add: () => void): unknown {
  try {
    add();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}
