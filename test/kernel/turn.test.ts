import { afterAll, expect, test } from "bun:test";
import { linuxKernel } from "../../src/cni/link/kernel.ts";
import { openPodNetns, waitForNetnsLock } from "../../src/cni/link/pod-netns.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Fd } from "../../src/linux/fd.ts";
import type { Netns } from "../../src/linux/netns.ts";
import { NamespacedNode } from "./support/node.ts";

const openBefore = Fd.openCount();
afterAll(() => expect(Fd.openCount()).toBe(openBefore));

function takeTurn(netns: Netns, waitMs: number): ReturnType<typeof waitForNetnsLock> {
  const end = systemClock.monotonic() + waitMs;
  return waitForNetnsLock(linuxKernel, netns, { clock: systemClock, remainingMs: () => end - systemClock.monotonic() });
}

test("calls in one namespace take turns, whatever path they know it by; those in another do not wait", async () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  using other = openPodNetns(linuxKernel, node.addPlace("b").path);
  const first = openPodNetns(linuxKernel, pod.path);
  expect(await takeTurn(first, 0)).toBe("at-once");
  using second = openPodNetns(linuxKernel, `/proc/self/fd/${first.fd.number}`);
  expect(await takeTurn(second, 20)).toBe("busy");
  expect(await takeTurn(other, 0)).toBe("at-once");
  const waiting = takeTurn(second, 10_000);
  first[Symbol.dispose]();
  expect(await waiting).toBe("waited");
});

test("a process that is killed releases its turn", async () => {
  using node = new NamespacedNode();
  const pod = node.addPlace("a");
  const holder = Bun.spawn(["flock", "--exclusive", pod.path, "sh", "-c", "echo locked; read line"], { stdin: "pipe", stdout: "pipe" });
  await holder.stdout.getReader().read();
  using netns = openPodNetns(linuxKernel, pod.path);
  expect(await takeTurn(netns, 0)).toBe("busy");
  const waiting = takeTurn(netns, 10_000);
  await holder.stdin.end();
  expect(await waiting).toBe("waited");
  await holder.exited;
});
