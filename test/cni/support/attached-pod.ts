/** For tests: a pod with its interface, from ADD to DEL. */

import type { CniJson, CniReply } from "../../support/programs/cni.ts";
import type { AttachmentCall, Json } from "../../support/programs/cni-call.ts";
import type { TestPod } from "../../support/servers/kubernetes.ts";
import { TestNetns } from "../../support/node/netns.ts";
import type { PodWorld } from "../../support/node/pod-world.ts";

export class AttachedPod implements AsyncDisposable {
  readonly pod: TestPod;
  readonly netns: TestNetns;
  readonly call: AttachmentCall;
  /** Of the first ADD. */
  readonly result: CniJson;
  readonly #world: PodWorld;

  private constructor(world: PodWorld, pod: TestPod, netns: TestNetns, call: AttachmentCall, result: CniJson) {
    this.#world = world;
    this.pod = pod;
    this.netns = netns;
    this.call = call;
    this.result = result;
  }

  /** ADD that must succeed. */
  static async add(world: PodWorld, pod: TestPod, config: Json = world.config()): Promise<AttachedPod> {
    const { node } = world;
    const netns = new TestNetns();
    const call = { containerID: node.newContainerID(), netns: netns.path, args: pod.args, config };
    return new AttachedPod(world, pod, netns, call, await node.add(netns, call));
  }

  get addresses(): readonly string[] {
    return this.result.ips?.map(({ address }) => address) ?? [];
  }

  /** The same ADD once more, which must succeed. */
  async addAgain(): Promise<CniJson> {
    return await this.#world.node.add(this.netns, this.call);
  }

  async check(): Promise<CniReply> {
    return await this.#world.node.call("CHECK", { ...this.call, config: { ...(this.call.config as Json), prevResult: this.result } });
  }

  /** Its endpoint, as {@link PodWorld.record} finds it. */
  async record(): ReturnType<PodWorld["record"]> {
    return await this.#world.record(this.pod);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world.node.del(this.call);
    this.netns[Symbol.dispose]();
  }
}
