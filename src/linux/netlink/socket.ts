/** A socket to rtnetlink: requests in batches, answers and refusals by request, dumps. */

import { NetplugError } from "../../lib/errors.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type BackgroundWrite, startWrite } from "../background-write.ts";
import { SOCK_CLOEXEC } from "../constants.ts";
import { EAGAIN, ENOBUFS } from "../errno.ts";
import { Fd } from "../fd.ts";
import { check, KernelError } from "../kernel-error.ts";
import { lastErrno, libc, untilDone } from "../libc.ts";
import {
  decodeMessages,
  encodeMessages,
  type Envelope,
  HEADER_BYTES,
  type NetlinkMessage,
  readField,
  readText,
  visitAttributes,
} from "./codec.ts";
import {
  NETLINK_CAP_ACK,
  NETLINK_EXT_ACK,
  NETLINK_GET_STRICT_CHK,
  NETLINK_ROUTE,
  NLM_F_ACK,
  NLM_F_ACK_TLVS,
  NLM_F_CAPPED,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_REQUEST,
  NLMSG_DONE,
  NLMSG_ERROR,
  NLMSG_NOOP,
  NLMSGERR_ATTR_MSG,
} from "./constants.ts";
import type { NetlinkRequest } from "./request.ts";
import type { Outcome, RouteSocket, StartedRequest } from "./route-socket.ts";

/** An {@link Outcome} while answers still come in. */
interface OpenOutcome {
  readonly replies: NetlinkMessage[];
  error: KernelError | undefined;
}

/** Requests as they are sent together. */
interface Batch {
  readonly requests: readonly NetlinkRequest[];
  /** Sequence number of the first. */
  readonly first: number;
  readonly messages: readonly Envelope[];
}

const NO_OUTCOME: Outcome = { replies: [], error: undefined };

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const SOL_NETLINK = 270;
const MSG_TRUNC = 0x20;

/** The kernel answers before `send` returns; only a defect makes anybody wait this long. */
const ANSWER_TIMEOUT_SECONDS = 5n;
/** The kernel fills datagrams of a dump up to 32 KiB. */
const DATAGRAM_BYTES = 32 * 1024;
/** Requests in one `send`: the answers to so many fit a socket's default receive buffer. */
const MAX_BATCH = 64;
const MAX_DUMP_ATTEMPTS = 10;
/** `sizeof(struct nlmsgerr)`. */
const ERROR_BYTES = 4 + HEADER_BYTES;

/** A socket stays bound to the namespace in which it was opened. Synchronous, and for one thread. */
export class NetlinkSocket implements RouteSocket {
  readonly #fd: Fd;
  readonly #datagram = new Uint8Array(DATAGRAM_BYTES);
  #sequence = 0;
  /** A write that nobody has waited for yet. */
  #write: BackgroundWrite | undefined;

  private constructor(fd: Fd) {
    this.#fd = fd;
  }

  /** @throws {KernelError} */
  static open(): NetlinkSocket {
    const fd = new Fd(check(libc().socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), "open socket", "rtnetlink"));
    const on = new Uint8Array(new Int32Array([1]).buffer);
    // Each is an improvement only (its kernel is 4.12 to 4.20): without it errors have no text, and dumps are filtered by us alone.
    for (const option of [NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK]) {
      libc().setsockopt(fd.number, SOL_NETLINK, option, on, on.length);
    }
    const timeout = new Uint8Array(new BigInt64Array([ANSWER_TIMEOUT_SECONDS, 0n]).buffer);
    check(libc().setsockopt(fd.number, SOL_SOCKET, SO_RCVTIMEO, timeout, timeout.length), "set timeout of socket", "rtnetlink");
    return new NetlinkSocket(fd);
  }

  /** Waits for a started write, which could otherwise go to another file with the same descriptor number. */
  [Symbol.dispose](): void {
    try {
      this.#finishWrite();
    } catch {
      // A caller interested in the outcome would have called `finish()`.
    }
    this.#fd[Symbol.dispose]();
  }

  transact(requests: readonly NetlinkRequest[]): readonly Outcome[] {
    const outcomes: Outcome[] = [];
    for (let start = 0; start < requests.length; start += MAX_BATCH) {
      this.#transactBatch(requests.slice(start, start + MAX_BATCH), outcomes);
    }
    return outcomes;
  }

  dump(request: NetlinkRequest): readonly NetlinkMessage[] {
    for (let attempt = 1; ; attempt++) {
      const { messages, wasInterrupted } = this.#dumpOnce(request);
      if (!wasInterrupted) return messages;
      if (attempt === MAX_DUMP_ATTEMPTS) {
        throw new NetplugError("tryAgainLater", `${request.operation}: the kernel's list changed during each of ${attempt} readings`);
      }
    }
  }

  start(request: NetlinkRequest): StartedRequest {
    const batch = this.#toBatch([request]);
    const words = encodeMessages(batch.messages);
    this.#write = startWrite(this.#fd.number, new Uint8Array(words.buffer), "rtnetlink");
    if (this.#write === undefined) this.#send(batch.messages);
    return {
      finish: () => {
        this.#finishWrite();
        const [outcome = NO_OUTCOME] = this.#collect(batch);
        return outcome;
      },
    };
  }

  #finishWrite(): void {
    const write = this.#write;
    this.#write = undefined;
    write?.finish();
  }

  #transactBatch(requests: readonly NetlinkRequest[], outcomes: Outcome[]): void {
    const batch = this.#toBatch(requests);
    this.#send(batch.messages);
    for (const outcome of this.#collect(batch)) outcomes.push(outcome);
  }

  /**
   * Only the last request asks for an acknowledgement: the kernel carries requests out in order, and reports a refusal in any case. So the
   * last answer completes the batch; an answer that does not fit the receive buffer gives `ENOBUFS`.
   */
  #toBatch(requests: readonly NetlinkRequest[]): Batch {
    const first = this.#nextSequence(requests.length);
    const last = requests.length - 1;
    const messages: Envelope[] = [];
    for (const { type, flags, payload } of requests) {
      const index = messages.length;
      messages.push({ type, flags: flags | NLM_F_REQUEST | (index === last ? NLM_F_ACK : 0), sequence: first + index, payload });
    }
    return { requests, first, messages };
  }

  #collect({ requests, first }: Batch): readonly Outcome[] {
    const outcomes: OpenOutcome[] = [];
    for (const _ of requests) outcomes.push({ replies: [], error: undefined });
    for (let isAnswered = false; !isAnswered;) {
      for (const message of this.#receive()) {
        const index = message.sequence - first;
        const request = requests[index];
        const outcome = outcomes[index];
        if (request === undefined || outcome === undefined || message.type === NLMSG_NOOP) continue;
        if (message.type === NLMSG_ERROR) {
          outcome.error = toError(request, message);
          isAnswered ||= index === requests.length - 1;
        } else {
          outcome.replies.push(message);
        }
      }
    }
    return outcomes;
  }

  #dumpOnce(request: NetlinkRequest): { messages: NetlinkMessage[]; wasInterrupted: boolean } {
    const { type, flags, payload } = request;
    const sequence = this.#nextSequence(1);
    this.#send([{ type, flags: flags | NLM_F_REQUEST | NLM_F_DUMP, sequence, payload }]);
    const messages: NetlinkMessage[] = [];
    let wasInterrupted = false;
    for (;;) {
      for (const message of this.#receive()) {
        if (message.sequence !== sequence) continue;
        wasInterrupted ||= (message.flags & NLM_F_DUMP_INTR) !== 0;
        if (message.type === NLMSG_ERROR || message.type === NLMSG_DONE) {
          const error = message.payload.length === 0 ? undefined : toError(request, message);
          if (error !== undefined) throw error;
          return { messages, wasInterrupted };
        }
        if (message.type !== NLMSG_NOOP) messages.push(message);
      }
    }
  }

  #nextSequence(count: number): number {
    // Starts again long before 32 bits are over; a stale answer to the same number is out of the question by then.
    if (this.#sequence > 0x7fff_0000) this.#sequence = 0;
    const first = this.#sequence + 1;
    this.#sequence += count;
    return first;
  }

  #send(messages: readonly Envelope[]): void {
    const words = encodeMessages(messages);
    const sent = untilDone(() => libc().send(this.#fd.number, words, words.byteLength, 0));
    check(sent, "send to", "rtnetlink");
  }

  #receive(): NetlinkMessage[] {
    const length = untilDone(() => libc().recv(this.#fd.number, this.#datagram, DATAGRAM_BYTES, MSG_TRUNC));
    if (length < 0) {
      const errno = lastErrno();
      const reason = errno === EAGAIN ? "no answer in time" : errno === ENOBUFS ? "answers were lost" : undefined;
      throw new KernelError({ operation: "receive from", object: "rtnetlink", errno, reason });
    }
    if (length > DATAGRAM_BYTES) {
      throw new NetplugError("internal", `receive from "rtnetlink": got a datagram of ${length} bytes, want ${DATAGRAM_BYTES} or less`);
    }
    return decodeMessages(this.#datagram.subarray(0, length));
  }
}

/**
 * All outcomes' replies, when nothing was refused.
 *
 * @throws {KernelError} the first refusal
 */
export function execute(socket: RouteSocket, requests: readonly NetlinkRequest[]): readonly (readonly NetlinkMessage[])[] {
  const replies: (readonly NetlinkMessage[])[] = [];
  for (const outcome of socket.transact(requests)) {
    if (outcome.error !== undefined) throw outcome.error;
    replies.push(outcome.replies);
  }
  return replies;
}

/** `struct nlmsgerr`: the negative number, the request's header, and, when flagged, attributes. `NLMSG_DONE` has the number only. */
function toError({ operation, object }: NetlinkRequest, { flags, payload }: NetlinkMessage): KernelError | undefined {
  const errno = -(readField(payload, 0, 4) | 0);
  if (errno === 0) return undefined;
  let reason: string | undefined;
  if ((flags & NLM_F_ACK_TLVS) !== 0 && (flags & NLM_F_CAPPED) !== 0) {
    visitAttributes(payload, ERROR_BYTES, (type, value) => {
      if (type === NLMSGERR_ATTR_MSG) reason = `the kernel says ${quote(readText(value))}`;
    });
  }
  return new KernelError({ operation, object: typeof object === "string" ? object : toPrefixText(object), errno, reason });
}
