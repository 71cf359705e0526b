import { afterAll, describe, expect, test } from "bun:test";
import { withUser } from "../../src/cni/link/address-user.ts";
import { linuxKernel } from "../../src/cni/link/kernel.ts";
import { requireUnneeded } from "../../src/cni/link/node-address.ts";
import { beginRemoval } from "../../src/cni/link/remove.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { Fd } from "../../src/linux/fd.ts";
import { KernelError } from "../../src/linux/kernel-error.ts";
import { addLink, existing, inspect } from "./support/add.ts";
import { NamespacedNode, type Place } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

/** Two containers of one pod: the same name on the host. */
const NAME = "npg82111e10a96";

describe("an interface that has the host side's name", () => {
  test.each([
    [
      "of the same pod's earlier container",
      (node: NamespacedNode, alias: string) => node.ip(node.host, `link set ${NAME} alias ${alias}`),
      "netplug:test-net:ctr-old:eth0",
    ],
    [
      "of the same pod in another network",
      (node: NamespacedNode, alias: string) => node.ip(node.host, `link set ${NAME} alias ${alias}`),
      "netplug:old-net:ctr-old:eth0",
    ],
    ["without alias, as an ADD leaves it that was killed", () => {}, ""],
  ])("%s is replaced, with its route", (_, prepare, alias) => {
    using node = new NamespacedNode();
    const old = node.addPlace("old");
    const pod = node.addPlace("new");
    node.ip(node.host, `link add name ${NAME} type veth peer name eth0 netns ${old.name}`);
    node.ip(node.host, `link set ${NAME} up`);
    node.ip(node.host, `route add 10.65.0.7/32 dev ${NAME}`);
    prepare(node, alias);
    const link = podLink("ctr-new", { hostName: NAME });
    addLink(node, pod, link);
    expect(inspect(node, pod, link)).toEqual([]);
    expect(node.links(old)).toEqual([]);
    expect(node.links(node.host)).toEqual([NAME]);
  });

  test("is no obstacle when its own DEL, or the end of its namespace, takes it away at that moment", () => {
    using node = new NamespacedNode();
    const [old, pod] = [node.addPlace("old"), node.addPlace("new")];
    addLink(node, old, podLink("ctr-old", { hostName: NAME }));
    const link = podLink("ctr-new", { hostName: NAME });
    addLink(node, pod, link, linuxKernel, () => void node.ip(old, "link del eth0"));
    expect(inspect(node, pod, link)).toEqual([]);
    expect(node.links(node.host)).toEqual([NAME]);
  });

  test.each([
    [
      "somebody's alias",
      `link add name ${NAME} type veth peer name other`,
      "uplink of the rack",
      'kind "veth", alias "uplink of the rack"',
    ],
    [
      "an alias of another interface of a pod",
      `link add name ${NAME} type veth peer name other`,
      "netplug:test-net:ctr-old:net1",
      'alias "netplug:test-net:ctr-old:net1"',
    ],
    ["another kind", `link add name ${NAME} type bridge`, "", 'kind "bridge", no alias'],
  ])("with %s is refused and left alone", (_, create, alias, shown) => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, create);
    if (alias !== "") node.run(node.host, "ip", "link", "set", NAME, "alias", alias);
    const before = node.links(node.host);
    const message = `create interface "${NAME}": EEXIST (file exists): it is somebody else's: `;
    expect(() => addLink(node, pod, podLink("ctr", { hostName: NAME }))).toThrow(
      expect.objectContaining({
        kind: "kernelRefused",
        message: expect.stringMatching(new RegExp(`^${escape(message)}.*${escape(shown)}.*; rename or delete it$`)),
      }),
    );
    expect(node.links(node.host)).toEqual(before);
    expect(node.links(pod)).toEqual([]);
  });
});

test("an interface of which our name is an alternative one is refused, and no DEL takes it away", () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  node.ip(node.host, "link add name rack0 type veth peer name rack1");
  node.ip(node.host, `link property add dev rack0 altname ${NAME}`);
  const link = podLink("ctr", { hostName: NAME });
  expect(() => addLink(node, pod, link)).toThrow(/it is somebody else's: interface "rack0", kind "veth", no alias; rename or delete it$/);
  for (const netns of [undefined, pod.path]) expect(node.onHost(() => beginRemoval(linuxKernel, link, netns).finish())).toBe(false);
  expect(node.links(node.host).toSorted()).toEqual(["rack0", "rack1"]);
});

describe("an interface that has the pod side's name", () => {
  test.each([
    ["is of another kind", "link add name eth0 type bridge"],
    ["is a veth of somebody else", "link add name eth0 type veth peer name other"],
  ])("and %s is refused and left alone", (_, create) => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(pod, create);
    const before = node.links(pod);
    expect(() => addLink(node, pod, podLink("ctr"))).toThrow(
      expect.objectContaining({
        kind: "kernelRefused",
        message: `create interface "eth0": EEXIST (file exists): it is in network namespace "${pod.path}" already, and not this attachment's`,
      }),
    );
    expect(node.links(pod)).toEqual(before);
    expect(node.links(node.host)).toEqual([]);
  });

  test("and is another attachment's is refused, and that one stays whole", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const first = podLink("ctr-1");
    addLink(node, pod, first);
    expect(() => addLink(node, pod, podLink("ctr-2", { addresses: ["10.65.0.8"] }))).toThrow("not this attachment's");
    expect(inspect(node, pod, first)).toEqual([]);
    expect(node.links(node.host)).toEqual([first.hostName]);
  });

  test("and comes up between the check and the creation is refused too", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const racing = {
      ...linuxKernel,
      openRouteSocket: (netns?: Parameters<typeof linuxKernel.openRouteSocket>[0]) => {
        const socket = linuxKernel.openRouteSocket(netns);
        return {
          transact: (requests: Parameters<typeof socket.transact>[0]) => {
            if (requests[0]?.operation === "create veth" && node.links(pod).length === 0) node.ip(pod, "link add name eth0 type bridge");
            return socket.transact(requests);
          },
          start: socket.start.bind(socket),
          dump: socket.dump.bind(socket),
          [Symbol.dispose]: () => socket[Symbol.dispose](),
        };
      },
    };
    expect(() => addLink(node, pod, podLink("ctr"), racing)).toThrow("not this attachment's");
    expect([node.links(pod), node.links(node.host)]).toEqual([["eth0"], []]);
  });
});

describe("a route to the pod's address", () => {
  /** The failure of an ADD, with who has the address. */
  function refusalOf(node: NamespacedNode, pod: Place, address: string, meanwhile = (): void => {}): KernelError | undefined {
    try {
      addLink(node, pod, podLink("ctr", { addresses: [address] }));
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof KernelError)) throw thrown;
      meanwhile();
      return node.onHost(() => {
        using host = linuxKernel.openRouteSocket();
        return withUser(host, thrown);
      });
    }
  }

  test.each([
    ["IPv4", "10.65.0.7", "route add 10.65.0.7/32 dev stale"],
    ["IPv6", "fd00:65::7", "-6 route add fd00:65::7/128 dev stale"],
  ])("over another interface (%s) is named, and nothing is left of the attempt", (_, address, addRoute) => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, "link add name stale type bridge");
    node.ip(node.host, "link set stale up");
    node.ip(node.host, addRoute);
    // of another table: it is not in the way
    node.ip(node.host, "link add name other type bridge");
    node.ip(node.host, "link set other up");
    node.ip(node.host, `${addRoute.replace("stale", "other")} table 100`);
    expect(refusalOf(node, pod, address)).toMatchObject({
      kind: "kernelRefused",
      message: expect.stringMatching(/^add route ".*7\/(32|128)": EEXIST \(file exists\): interface "stale" has a route to it; /),
    });
    expect([node.links(node.host).toSorted(), node.links(pod)]).toEqual([["other", "stale"], []]);
  });

  test.each([
    [
      "that counts before ours is named",
      "fd00:65::7",
      "512",
      /^use address ".*7\/128": EEXIST \(file exists\): interface "stale" has a route to it; /,
    ],
    ["that counts after ours is no obstacle", "fd00:65::7", "2048", undefined],
    ["of IPv4 is none either: ours has the best metric", "10.65.0.7", "50", undefined],
  ])("%s", (_, address, metric, refusal) => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, "link add name stale type bridge");
    node.ip(node.host, "link set stale up");
    node.ip(node.host, `route add ${address} dev stale metric ${metric}`);
    const refused = refusalOf(node, pod, address);
    expect(refused?.message).toEqual(refusal === undefined ? undefined : expect.stringMatching(refusal));
    const link = podLink("ctr", { addresses: [address] });
    if (refusal === undefined) expect(inspect(node, pod, link)).toEqual([]);
    else expect([node.links(node.host), node.links(pod)]).toEqual([["stale"], []]);
  });

  test.each([
    ["blackhole fd00:65::7 metric 512", "names"],
    ["unreachable fd00:65::7 metric 512", "names"],
    ["prohibit fd00:65::7 metric 512", "names"],
    ["blackhole fd00:65::7 metric 2048", "takes no notice of"],
    ["blackhole fd00:65::/64 metric 512", "takes no notice of"],
    ["blackhole fd00:65::8 metric 512", "takes no notice of"],
    ["blackhole fd00:65::7 metric 512 table 100", "takes no notice of"],
  ])("of IPv6 that leads nowhere: of %s the ADD %s it", (route, what) => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, `-6 route add ${route}`);
    // The kernel asks table 100 first.
    node.ip(node.host, "-6 rule add to fd00:65::7 lookup 100 priority 99");
    if (what === "names") {
      expect(refusalOf(node, pod, "fd00:65::7")?.message).toStartWith(
        'use address "fd00:65::7/128": EEXIST (file exists): interface "lo" has a route',
      );
      expect([node.links(node.host), node.links(pod)]).toEqual([[], []]);
    } else expect(refusalOf(node, pod, "fd00:65::7")).toBeUndefined();
  });

  test("of IPv6 that leads nowhere, but is to many addresses, does not make a better route by the address one to it", () => {
    using node = new NamespacedNode();
    node.ip(node.host, "link add name other type bridge");
    node.ip(node.host, "link set other up");
    node.ip(node.host, "-6 route add fd00:66::1 via fd00:65::7 dev other onlink metric 512");
    node.ip(node.host, "-6 route add blackhole fd00:65::/64");
    node.onHost(() => {
      using host = linuxKernel.openRouteSocket();
      const asked = parseAddress("fd00:65::7");
      expect(() => requireUnneeded(host, [asked], true)).not.toThrow();
    });
  });

  test("that leads nowhere is named as well", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, "route add blackhole 10.65.0.7/32");
    expect(refusalOf(node, pod, "10.65.0.7")?.message).toEndWith("another route to it exists; delete it");
    expect(node.links(node.host)).toEqual([]);
  });

  test("that is gone when it is looked for is what the kernel refused, by nobody", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, "route add blackhole 10.65.0.7/32");
    const refusal = refusalOf(node, pod, "10.65.0.7", () => void node.ip(node.host, "route del blackhole 10.65.0.7/32"));
    expect(refusal).toMatchObject({ kind: "kernelRefused", message: 'add route "10.65.0.7/32": EEXIST (file exists)' });
  });
});

describe("a repeated ADD", () => {
  test("finds its own link, complete, and may keep it", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const link = podLink("ctr");
    expect(existing(node, pod, link)).toBeUndefined();
    addLink(node, pod, link);
    expect(existing(node, pod, link)).toMatchObject({ isOurs: true, host: { alias: link.alias } });
    expect(inspect(node, pod, link)).toEqual([]);
  });

  test("finds what an ADD left that was killed before it set the alias, and builds it anew", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const link = podLink("ctr");
    node.ip(node.host, `link add name ${link.hostName} type veth peer name eth0 netns ${pod.name}`);
    expect(existing(node, pod, link)).toMatchObject({ isOurs: true });
    expect(inspect(node, pod, link)).not.toEqual([]);
    addLink(node, pod, link);
    expect(inspect(node, pod, link)).toEqual([]);
  });
});

test("a late DEL of a pod's earlier container keeps the new one's link intact", () => {
  using node = new NamespacedNode();
  const [oldPod, newPod] = [node.addPlace("old"), node.addPlace("new")];
  const [oldLink, newLink] = [podLink("ctr-old", { hostName: NAME }), podLink("ctr-new", { hostName: NAME })];
  addLink(node, oldPod, oldLink);
  addLink(node, newPod, newLink);
  for (const path of [oldPod.path, undefined]) expect(node.onHost(() => beginRemoval(linuxKernel, oldLink, path).finish())).toBe(false);
  expect(inspect(node, newPod, newLink)).toEqual([]);
});

/** Text as a part of a pattern. */
function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
