/** The few calls of the Container Runtime Interface that a kubelet makes for a pod, over containerd's socket. */

import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect as connectSocket } from "node:net";
import { decodeMessage, encodeMessage, messagesOf, numberOf, textOf } from "./protobuf.ts";
import type { ProtoFields, ProtoMessage } from "./protobuf.ts";

export interface PodSandboxSpec {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly logFolder: string;
  /** Its cgroups' parent, at the top of each hierarchy. */
  readonly cgroup: string;
  readonly portMappings?: readonly { readonly containerPort: number; readonly hostPort: number }[];
}

export interface ExecResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** @see https://github.com/kubernetes/cri-api, runtime/v1/api.proto: the numbers are its field numbers */
export class CriClient implements Disposable {
  readonly #session: ClientHttp2Session;
  readonly #pods = new Set<string>();

  constructor(socket: string) {
    this.#session = connectHttp2("http://localhost", { createConnection: () => connectSocket(socket) });
    this.#session.on("error", () => {}); // each request reports its own failure
  }

  /** Conditions that are not met, e.g. `NetworkReady: cni plugin not initialized`. */
  async unmetConditions(): Promise<readonly string[]> {
    const [status] = messagesOf(await this.#call("Status", {}), 1);
    if (status === undefined) return ["no status"];
    return messagesOf(status, 1)
      .filter((condition) => numberOf(condition, 2) === 0)
      .map((condition) => `${textOf(condition, 1)}: ${textOf(condition, 4)}`);
  }

  /** @returns the sandbox's ID */
  async runPod(pod: PodSandboxSpec): Promise<string> {
    const sandboxID = textOf(await this.#call("RunPodSandbox", { 1: podConfig(pod) }), 1);
    this.#pods.add(sandboxID);
    return sandboxID;
  }

  /** The pod's first address. */
  async podAddress(sandboxID: string): Promise<string> {
    const [status] = messagesOf(await this.#call("PodSandboxStatus", { 1: sandboxID }), 1);
    const [network] = status === undefined ? [] : messagesOf(status, 5);
    return network === undefined ? "" : textOf(network, 1);
  }

  /** Creates and starts a container. @returns its ID */
  async runContainer(sandboxID: string, pod: PodSandboxSpec, name: string, image: string, command: readonly string[]): Promise<string> {
    const config = { 1: { 1: name }, 2: { 1: image }, 3: command, 11: `${name}.log` };
    const containerID = textOf(await this.#call("CreateContainer", { 1: sandboxID, 2: config, 3: podConfig(pod) }), 1);
    await this.#call("StartContainer", { 1: containerID });
    return containerID;
  }

  async exec(containerID: string, command: readonly string[]): Promise<ExecResult> {
    const reply = await this.#call("ExecSync", { 1: containerID, 2: command, 3: 20 });
    return { stdout: textOf(reply, 1), stderr: textOf(reply, 2), status: numberOf(reply, 3) };
  }

  async removePod(sandboxID: string): Promise<void> {
    await this.#call("StopPodSandbox", { 1: sandboxID });
    await this.#call("RemovePodSandbox", { 1: sandboxID });
    this.#pods.delete(sandboxID);
  }

  /** Removes what a failed test left. */
  async removeAllPods(): Promise<void> {
    for (const sandboxID of this.#pods) await this.removePod(sandboxID);
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }

  /** One unary gRPC call. @throws Error with the runtime's own message */
  #call(method: string, message: ProtoMessage): Promise<ProtoFields> {
    const body = encodeMessage(message);
    const frame = new Uint8Array(5 + body.length);
    new DataView(frame.buffer).setUint32(1, body.length);
    frame.set(body, 5);
    const { promise, resolve, reject } = Promise.withResolvers<ProtoFields>();
    const stream = this.#session.request({
      ":method": "POST",
      ":path": `/runtime.v1.RuntimeService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const chunks: Uint8Array[] = [];
    let outcome: { readonly status: string; readonly text: string } | undefined;
    const note = (headers: Readonly<Record<string, unknown>>): void => {
      const [status, text] = [headers["grpc-status"], headers["grpc-message"]];
      if (typeof status === "string") outcome = { status, text: typeof text === "string" ? decodeURIComponent(text) : "" };
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("end", () => {
      if (outcome?.status === "0") resolve(decodeMessage(Buffer.concat(chunks).subarray(5)));
      else reject(new Error(`${method}: ${outcome?.text ?? "no answer"}`));
    });
    stream.end(frame);
    return promise;
  }
}

function podConfig(pod: PodSandboxSpec): ProtoMessage {
  return {
    1: { 1: pod.name, 2: pod.uid, 3: pod.namespace },
    2: pod.name,
    3: pod.logFolder,
    // without it the host's resolv.conf is copied, which may be a link into /run
    4: { 1: ["10.96.0.10"] },
    5: (pod.portMappings ?? []).map(({ containerPort, hostPort }) => ({ 2: containerPort, 3: hostPort })),
    8: { 1: `/${pod.cgroup}`, 2: {} },
  };
}
