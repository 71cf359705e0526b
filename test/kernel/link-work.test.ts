import { afterAll, describe, expect, test } from "bun:test";
import { startLedger } from "../../src/cni/ledger.ts";
import { linuxKernel } from "../../src/cni/link/kernel.ts";
import { LinkWork } from "../../src/cni/add/link-work.ts";
import { openPodNetns } from "../../src/cni/link/pod-netns.ts";
import { openLinkSockets } from "../../src/cni/link/sockets.ts";
import { type DatastoreTraits, ETCD_TRAITS, KUBERNETES_TRAITS } from "../../src/datastore/traits.ts";
import type { PodLink } from "../../src/endpoint/pod-link.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startDeadline } from "../../src/lib/deadline.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { Fd } from "../../src/linux/fd.ts";
import { silentLog } from "../support/silent-log.ts";
import { NamespacedNode, type Place } from "./support/node.ts";
import { podLink } from "./support/pod-link.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

const first = podLink("ctr", { addresses: ["10.65.0.7"] });
const other = podLink("ctr", { addresses: ["10.65.0.8"] });
/** As a decision that is made again comes to it. */
const sameAsFirst = podLink("ctr", { addresses: ["10.65.0.7"] });

interface Playing {
  readonly traits?: DatastoreTraits;
  readonly isReplacing?: boolean;
  readonly requireHeld?: () => void;
}

/** What there is afterwards is on the node still. */
function onPod(node: NamespacedNode, pod: Place, play: (work: LinkWork) => void, playing: Playing = {}): void {
  const { traits = KUBERNETES_TRAITS, isReplacing = false, requireHeld = () => {} } = playing;
  node.onHost(() => {
    using netns = openPodNetns(linuxKernel, pod.path);
    using sockets = openLinkSockets(linuxKernel, netns, first);
    const deadline = startDeadline(systemClock, 10_000);
    const call = { ledger: startLedger(systemClock, 0), deadline, log: silentLog, datastore: { traits }, host: { clock: systemClock } };
    play(new LinkWork({ call, hold: { requireHeld }, sockets, mayBeGateway: () => false, isReplacing, undo: { push: () => {} } }));
  });
}

function addressesOf(node: NamespacedNode, pod: Place): unknown[] {
  return node.ipJson(pod, "-4 addr show dev eth0").flatMap(({ addr_info }) => (addr_info as { local: string }[]).map(({ local }) => local));
}

function indexOf(node: NamespacedNode, { hostName }: PodLink): unknown {
  return node.ipJson(node.host, `link show ${hostName}`)[0]?.["ifindex"];
}

describe("LinkWork", () => {
  test("makes the whole link beside the record's write, and has nothing left to do for the same plan", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    onPod(node, pod, (work) => {
      work.besideWrites().whileRecording?.({ link: first, isNew: true });
      expect(addressesOf(node, pod)).toEqual(["10.65.0.7"]);
      const index = indexOf(node, first);
      work.besideWrites().whileRecording?.({ link: sameAsFirst, isNew: false });
      work.finish(sameAsFirst);
      expect(indexOf(node, first)).toBe(index);
    });
    expect(node.pings(node.host, "10.65.0.7")).toBe(true);
  });

  test("leaves nothing of an earlier plan whose addresses were others", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    onPod(node, pod, (work) => {
      work.besideWrites().whileRecording?.({ link: first, isNew: true });
      work.finish(other);
    });
    expect(addressesOf(node, pod)).toEqual(["10.65.0.8"]);
    expect(node.ipJson(node.host, `route show dev ${other.hostName}`).map(({ dst }) => dst)).toEqual(["10.65.0.8"]);
    expect(node.links(node.host)).toEqual([other.hostName]);
  });

  test("makes only the pair where the commit writes all at once", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    onPod(
      node,
      pod,
      (work) => {
        work.besideWrites().whileCommitting?.({ link: first, isNew: true });
        expect(work.besideWrites().whileRecording).toBeUndefined();
        expect(addressesOf(node, pod)).toEqual([]);
        const index = indexOf(node, first);
        work.finish(other);
        expect(indexOf(node, first)).toBe(index);
      },
      { traits: ETCD_TRAITS },
    );
    expect(addressesOf(node, pod)).toEqual(["10.65.0.8"]);
  });

  test("gives no address that the attachment had before, until the datastore has made it sure", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    onPod(node, pod, (work) => {
      work.besideWrites().whileRecording?.({ link: first, isNew: false });
      expect(addressesOf(node, pod)).toEqual([]);
      work.finish(first);
    });
    expect(addressesOf(node, pod)).toEqual(["10.65.0.7"]);
  });

  test("begins anew with a pair of which the kernel refused a part", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, "route add 10.65.0.7/32 dev lo");
    onPod(node, pod, (work) => {
      expect(() => work.besideWrites().whileRecording?.({ link: first, isNew: true })).toThrow('add route "10.65.0.7/32": EEXIST');
      node.ip(node.host, "route del 10.65.0.7/32 dev lo");
      work.besideWrites().whileRecording?.({ link: first, isNew: true });
    });
    expect(addressesOf(node, pod)).toEqual(["10.65.0.7"]);
    expect(node.links(node.host)).toEqual([first.hostName]);
  });

  test("makes no route to a gateway of the node, not even one that is undone", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    node.ip(node.host, "link add name lan type bridge");
    node.ip(node.host, "link set lan up");
    node.ip(node.host, "address add 10.65.0.9/28 dev lan");
    node.ip(node.host, "route add 198.51.100.0/24 via 10.65.0.7");
    onPod(node, pod, (work) => expect(() => work.finish(first)).toThrow('use address "10.65.0.7/32": EEXIST'));
    expect(node.ipJson(node.host, "route show 10.65.0.7")).toEqual([]);
  });

  test("touches no interface of an earlier ADD before the datastore has written all", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    onPod(node, pod, (work) => expect(work.besideWrites()).toEqual({}), { isReplacing: true });
  });

  test("says that a DEL has ended the ADD, where that is why the kernel refuses", () => {
    using node = new NamespacedNode();
    const pod = node.addPlace("a");
    const ended = new NetplugError("tryAgainLater", "a DEL has ended it");
    let isEnded = false;
    const requireHeld = (): void => {
      if (isEnded) throw ended;
    };
    const play = (work: LinkWork): void => {
      work.besideWrites().whileCommitting?.({ link: first, isNew: true });
      node.ip(node.host, `link del ${first.hostName}`);
      isEnded = true;
      expect(() => work.finish(first)).toThrow(ended);
    };
    onPod(node, pod, play, { traits: ETCD_TRAITS, requireHeld });
  });
});
