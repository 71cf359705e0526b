/** The kernel's part of an ADD, as the plugin strings it together. */

import { expect } from "bun:test";
import { inspectLink } from "../../../src/cni/link/inspect.ts";
import { type Kernel, linuxKernel } from "../../../src/cni/link/kernel.ts";
import { openPodNetns } from "../../../src/cni/link/pod-netns.ts";
import { type ExistingLink, findExisting } from "../../../src/cni/link/find.ts";
import { openLinkSockets } from "../../../src/cni/link/sockets.ts";
import { requireUnneeded } from "../../../src/cni/link/node-address.ts";
import { createLink, programLink } from "../../../src/cni/link/setup.ts";
import { hostEnd, podEnd } from "../../../src/cni/link/usable.ts";
import { look, type UsableOptions, whenUsable } from "../../../src/cni/link/when-usable.ts";
import type { PodLink } from "../../../src/endpoint/pod-link.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { UndoStep } from "../../../src/lib/undo-stack.ts";
import type { Place, NamespacedNode } from "./node.ts";

/** As a whole ADD: what is there can be used at once. */
export async function addUsableLink(node: NamespacedNode, pod: Place, link: PodLink): Promise<void> {
  addLink(node, pod, link);
  expect(await unusable(node, pod, link, systemClock, 5_000)).toEqual([]);
}

/** What an ADD finds not to be usable after some milliseconds. */
export async function unusable(
  node: NamespacedNode,
  pod: Place,
  link: PodLink,
  clock: UsableOptions["clock"] = systemClock,
  waitMs = 0,
): Promise<readonly string[]> {
  using sockets = node.onHost(() => openLinkSockets(linuxKernel, openPodNetns(linuxKernel, pod.path), link));
  using _ = sockets.netns;
  const pair = findExisting(sockets);
  if (pair?.host === undefined || pair.pod === undefined) throw new Error(`look for ${link.hostName}: it is not there`);
  const { index } = pair.host;
  const early = [...look(sockets.pod, podEnd(link, pair.pod.index)), ...look(sockets.host, hostEnd(link, index))];
  return early.length === 0 ? [] : await whenUsable(sockets, link, { index, peer: pair.pod.index }, { clock, waitMs });
}

/**
 * Checks, then sets up; on failure runs what was pushed for undo, last first.
 *
 * @param mayReplace called before an interface that is in the way is deleted
 */
export function addLink(node: NamespacedNode, pod: Place, link: PodLink, kernel: Kernel = linuxKernel, mayReplace = () => {}): void {
  node.onHost(() => {
    const steps: UndoStep[] = [];
    // As in the plugin, the way back has the namespace still.
    using netns = openPodNetns(kernel, pod.path);
    try {
      using sockets = openLinkSockets(kernel, netns, link);
      findExisting(sockets);
      const created = createLink(sockets, link, { push: (step) => void steps.push(step) }, mayReplace);
      requireUnneeded(sockets.host, link.addresses, false);
      programLink(sockets, link, created);
    } catch (thrown) {
      for (const step of steps.toReversed()) void step.undo(new AbortController().signal);
      throw thrown;
    }
  });
}

/** What a CHECK finds. */
export function inspect(node: NamespacedNode, pod: Place, link: PodLink): readonly string[] {
  return node.onHost(() => {
    using netns = openPodNetns(linuxKernel, pod.path);
    using sockets = openLinkSockets(linuxKernel, netns, link);
    return inspectLink(sockets, link);
  });
}

/** What an ADD finds before it decides. */
export function existing(node: NamespacedNode, pod: Place, link: PodLink): ExistingLink | undefined {
  return node.onHost(() => {
    using netns = openPodNetns(linuxKernel, pod.path);
    using sockets = openLinkSockets(linuxKernel, netns, link);
    return findExisting(sockets);
  });
}
