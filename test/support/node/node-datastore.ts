/** For tests: the datastore of a test's node, etcd or Kubernetes. */

import type { CniCall, CniVerb, Json } from "../programs/cni-call.ts";
import { type EtcdServer, type EtcdServerOptions, startEtcd } from "../servers/etcd.ts";

/** Of `npm test`: the part of the suite that runs the same contract on Kubernetes sets it. */
export const isOnEtcd: boolean = process.env["CNI_DATASTORE"] !== "kubernetes";

/** Tests of what only etcd has are registered by this. */
export function onEtcd(register: () => void): void {
  if (isOnEtcd) register();
}

/** What a node needs of its datastore. */
export interface NodeDatastore extends AsyncDisposable {
  /** Keys of the network config that lead to it. */
  readonly config: Json;
  /** The same, to where nobody answers on port 1. */
  readonly nowhere: Json;
  /** Variables with which `netplugctl` gets there. */
  readonly env: Readonly<Record<string, string>>;
  /** What a call needs besides, and the arguments that it must have: on Kubernetes everything has a pod. */
  prepare(verb: CniVerb, call: CniCall): Promise<string | undefined>;
  /** The pod of an attachment, where its call names none. */
  podOf(containerID: string): { readonly namespace: string; readonly pod: string } | undefined;
  /** All that may change, as lines of text, by the datastore's own client. */
  snapshot(): Promise<readonly string[]>;
  /** Endpoints that have addresses. */
  endpoints(): Promise<readonly Json[] | undefined>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** etcd alone. */
export class EtcdNodeDatastore implements NodeDatastore {
  readonly etcd: EtcdServer;
  readonly config: Json;
  readonly nowhere: Json = { etcd_endpoints: "http://127.0.0.1:1" };
  readonly env: Readonly<Record<string, string>>;

  private constructor(etcd: EtcdServer) {
    this.etcd = etcd;
    this.config = { etcd_endpoints: etcd.endpoint };
    this.env = { ETCD_ENDPOINTS: etcd.endpoint };
  }

  static async start(options: EtcdServerOptions): Promise<EtcdNodeDatastore> {
    return new EtcdNodeDatastore(await startEtcd(options));
  }

  prepare(_verb: CniVerb, { args }: CniCall): Promise<string | undefined> {
    return Promise.resolve(args);
  }

  podOf(): undefined {
    return undefined;
  }

  async snapshot(): Promise<readonly string[]> {
    const text = await this.etcd.ctl(["get", "/netplug/", "--prefix", "--keys-only"]);
    return text.split("\n").filter((line) => line !== "");
  }

  endpoints(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async stop(): Promise<void> {
    await this.etcd.stop();
  }

  async start(): Promise<void> {
    await this.etcd.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.etcd[Symbol.asyncDispose]();
  }
}
