import { afterAll, describe, expect, test } from "bun:test";
import { findLink } from "../../src/cni/link/find.ts";
import { linuxKernel } from "../../src/cni/link/kernel.ts";
import { listLinksOf, listNamelessLinks, removeNamelessLinks } from "../../src/cni/link/leftover-links.ts";
import { beginRemoval, removePair } from "../../src/cni/link/remove.ts";
import type { PodLink } from "../../src/endpoint/pod-link.ts";
import { Fd } from "../../src/linux/fd.ts";
import { deleteLink } from "../../src/linux/netlink/link.ts";
import { addLink } from "./support/add.ts";
import { type Place, NamespacedNode } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

const LINK = podLink("ctr", { addresses: ["10.65.0.7", "fd00:65::7"] });

function remove(node: NamespacedNode, link: Pick<PodLink, "hostName" | "podName" | "alias">, path?: string): boolean {
  return node.onHost(() => beginRemoval(linuxKernel, link, path).finish());
}

describe("beginRemoval()", () => {
  test("takes away both ends and every route, and finds nothing the second time", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    addLink(node, pod, LINK);
    expect(remove(node, LINK, pod.path)).toBe(true);
    expect([node.links(node.host), node.links(pod)]).toEqual([[], []]);
    expect([...node.ipJson(node.host, "-4 route show"), ...node.ipJson(node.host, "-6 route show protocol 110")]).toEqual([]);
    expect(remove(node, LINK, pod.path)).toBe(false);
  });

  test("needs no namespace", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    addLink(node, pod, LINK);
    expect(remove(node, LINK)).toBe(true);
    expect(node.links(pod)).toEqual([]);
  });

  test("does its work when the namespace's path leads nowhere or to something else", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    for (const path of ["/nonexistent/netns", "/etc/hostname", "/proc/self/ns/mnt"]) {
      addLink(node, pod, LINK);
      expect(remove(node, LINK, path)).toBe(true);
    }
  });

  test("succeeds when the namespace is gone, and the link with it", async () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    addLink(node, pod, LINK);
    node.deletePlace(pod);
    // The kernel takes the link away in its own time, before or after us.
    remove(node, LINK, pod.path);
    expect(node.links(node.host)).toEqual([]);
    expect(remove(node, LINK, pod.path)).toBe(false);
  });

  test("finds the link under another name on the host, as a DEL without the pod's name has to", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const unnamed = { ...LINK, hostName: "npg00000000000" };
    addLink(node, pod, LINK);
    expect(remove(node, unnamed, pod.path)).toBe(true);
    addLink(node, pod, LINK);
    expect(remove(node, unnamed)).toBe(true);
    expect(node.links(node.host)).toEqual([]);
  });

  test("touches neither an interface of somebody else nor one in the pod that is not ours", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, `link add name ${LINK.hostName} type veth peer name x alias nobodys`);
    node.ip(node.host, `link set ${LINK.hostName} alias somebody`);
    node.ip(pod, "link add name eth0 type bridge");
    expect([remove(node, LINK, pod.path), remove(node, LINK)]).toEqual([false, false]);
    expect([node.links(node.host), node.links(pod)]).toEqual([[LINK.hostName, "x"].toSorted(), ["eth0"]]);
  });

  test("of an interface without alias takes away the one of this pod only", () => {
    using node = new NamespacedNode();
    const [pod, other] = [node.addPlace("a"), node.addPlace("b")];
    // As an ADD leaves it that was killed at that moment: here of the pod's next container.
    node.ip(node.host, `link add name ${LINK.hostName} type veth peer name eth0 netns ${other.name}`);
    expect(remove(node, LINK, pod.path)).toBe(false);
    expect(remove(node, LINK, other.path)).toBe(true);
  });

  test("never takes the host's own interface for the pod's, whatever CNI_NETNS says", () => {
    using node = new NamespacedNode();
    node.ip(node.host, "link add name eth0 type veth peer name uplink");
    expect(remove(node, LINK, node.host.path)).toBe(false);
    expect(node.links(node.host)).toEqual(["eth0", "uplink"]);
  });
});

test("a link that is unregistered is gone for everybody, while its deletion has not ended yet", () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  addLink(node, pod, LINK);
  const removal = node.onHost(() => beginRemoval(linuxKernel, LINK, pod.path));
  while (!node.onHost(() => removal.isUnregistered())) Bun.sleepSync(1);
  const left = [node.links(node.host), node.links(pod), node.ipJson(node.host, "-4 route show")];
  expect([...left, removal.finish()]).toEqual([[], [], [], true]);
});

describe("removePair()", () => {
  function back(node: NamespacedNode, place: Place): void {
    using netns = linuxKernel.openNetns(place.path);
    if (netns === undefined) throw new Error("the namespace is not there");
    node.onHost(() => removePair(linuxKernel, LINK, netns));
  }

  test("deletes a pair of this attachment, also before it got its alias", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    addLink(node, pod, LINK);
    back(node, pod);
    expect(node.links(node.host)).toEqual([]);
    node.ip(node.host, `link add name ${LINK.hostName} type veth peer name eth0 netns ${pod.name}`);
    back(node, pod);
    expect(node.links(node.host)).toEqual([]);
  });

  test("leaves one in another namespace, and what another plugin has given the pod", () => {
    using node = new NamespacedNode();
    const [pod, other] = [node.addPlace("a"), node.addPlace("b")];
    addLink(node, pod, LINK);
    node.ip(node.host, `link add name veth5eb2f4a1 type veth peer name eth0 netns ${other.name}`);
    back(node, other);
    expect([node.links(node.host), node.links(other)]).toEqual([[LINK.hostName, "veth5eb2f4a1"], ["eth0"]]);
  });
});

test("listLinksOf() names the links of one network, and no others", () => {
  using node = new NamespacedNode();
  const [a, b, c] = [node.addPlace("a"), node.addPlace("b"), node.addPlace("c")];
  const other = podLink("ctr-c", { alias: "netplug:other-net:ctr-c:eth0", addresses: ["10.65.0.9"] });
  const second = podLink("ctr-b", { podName: "net1", addresses: ["10.65.0.8"] });
  addLink(node, a, LINK);
  addLink(node, b, second);
  addLink(node, c, other);
  node.ip(node.host, "link add name stranger type bridge");
  const listed = node.onHost(() => listLinksOf(linuxKernel, "test-net"));
  expect(listed.toSorted((x, y) => x.containerID.localeCompare(y.containerID))).toEqual([
    { network: "test-net", containerID: "ctr", ifName: "eth0", hostName: LINK.hostName, alias: LINK.alias },
    { network: "test-net", containerID: "ctr-b", ifName: "net1", hostName: second.hostName, alias: second.alias },
  ]);
});

test("a request that was started is with the kernel before its socket is closed, whether anybody waits for it or not", () => {
  using node = new NamespacedNode();
  for (let i = 0; i < 20; i++) {
    node.ip(node.host, "link add name started type bridge");
    node.onHost(() => {
      using socket = linuxKernel.openRouteSocket();
      const link = findLink(socket, { name: "started" });
      if (link === undefined) throw new Error("it is not there");
      socket.start(deleteLink(link.index, link.name));
    });
    expect(node.links(node.host)).toEqual([]);
  }
});

describe("removeNamelessLinks()", () => {
  test("deletes what was created and never named, and nothing that somebody may use", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    addLink(node, pod, LINK);
    const create = (name: string, kind: string): void => void node.ip(node.host, `link add ${name} type ${kind}`);
    create("npg0123456789a", "veth peer name half0");
    create("npg0123456789b", "veth peer name used0");
    node.ip(node.host, "link set npg0123456789b up");
    create("npg0123456789c", "veth peer name named0");
    node.ip(node.host, "link set npg0123456789c alias somebody");
    create("npg0123456789d", "bridge");
    create("npgx", "veth peer name short0");
    const nameless = node.onHost(() => listNamelessLinks(linuxKernel));
    expect(nameless.map(({ name }) => name)).toEqual(["npg0123456789a"]);
    node.onHost(() => removeNamelessLinks(linuxKernel, nameless));
    const left = node.links(node.host);
    expect(left).not.toContain("half0");
    for (const name of ["npg0123456789b", "npg0123456789c", "npg0123456789d", "npgx", LINK.hostName]) expect(left).toContain(name);
    expect(node.onHost(() => listNamelessLinks(linuxKernel))).toEqual([]);
  });
});
