/** What all tests of a file share: made before the first of them, gone after the last. */

import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fd } from "../../../src/linux/fd.ts";
import type { EtcdServer } from "../../support/servers/etcd.ts";
import type { Flow } from "./flows.ts";
import { FaultNode, startInitialisedEtcd } from "./node.ts";
import { buildVictim } from "./victims.ts";

/**
 * An etcd.
 *
 * @param prepare what every node finds there
 * @returns what starts a node on it
 */
export function shareEtcd(prepare: (etcd: EtcdServer) => Promise<void> = async () => {}): {
  readonly startNode: (flow: Flow) => Promise<FaultNode>;
} {
  let etcd: EtcdServer | undefined;
  beforeAll(async () => {
    etcd = await startInitialisedEtcd();
    await prepare(etcd);
  });
  afterAll(async () => await etcd?.[Symbol.asyncDispose]());
  return {
    async startNode(flow) {
      if (etcd === undefined) throw new Error("start a node: its etcd runs only while tests do");
      return await FaultNode.start(etcd, flow);
    },
  };
}

/** The plugin that kills itself when it is told to, compiled once. */
export function shareVictim(): { readonly program: string } {
  const victim = { program: "" };
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "npgt-victim-"));
    victim.program = buildVictim(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  return victim;
}

/** After the last test no descriptor may be open that was not open before. */
export function expectDescriptorsClosed(): void {
  const openBefore = Fd.openCount();
  afterAll(async () => {
    // What was under way when a test ended comes to its end.
    for (let look = 0; look < 1_500 && Fd.openCount() > openBefore; look++) await Bun.sleep(20);
    expect(Fd.openCount()).toBe(openBefore);
  });
}
