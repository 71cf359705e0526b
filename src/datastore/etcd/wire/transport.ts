/**
 * One request to one endpoint: the gateway and gRPC do the same behind this. Both send etcd's `hasleader`: a member that has lost its
 * cluster then ends its watches and refuses requests at once, so they can be repeated elsewhere.
 */

import type { ReadReply, ReadRequest, WriteReply, WriteRequest } from "../protocol/rpc.ts";
import type { WatchRange, WatchReply } from "../protocol/watch-rpc.ts";

/** Where a request goes and as whom. */
export interface Target {
  /** `scheme://host:port`. */
  readonly endpoint: string;
  readonly token?: string | undefined;
  readonly tls?: TlsMaterial | undefined;
  /** Ends the try; its reason is a deadline of ours or the caller's. */
  readonly signal: AbortSignal;
}

/** Contents of the configured files. */
export interface TlsMaterial {
  /** One PEM text per trusted root; undefined: those of the system. */
  readonly ca: readonly string[] | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** All methods throw EtcdFailure. */
export interface Transport {
  read(request: ReadRequest, target: Target): Promise<ReadReply>;
  write(request: WriteRequest, target: Target): Promise<WriteReply>;
  /** @returns a token */
  authenticate(username: string, password: string, target: Target): Promise<string>;
  /** @returns what a member's status says is wrong: alarms, such as `alarm:NOSPACE`, and other texts */
  alarms(target: Target): Promise<readonly string[]>;
  /** Ends when the server does, throws when the connection breaks or the signal aborts. */
  watch(ranges: readonly WatchRange[], target: Target): AsyncIterable<WatchReply>;
  close(): void;
}
