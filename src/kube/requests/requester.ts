/** Requests with all that surrounds them: credentials, rate limit, deadline, further tries. */

import { toDurationText } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Random } from "../../lib/ports.ts";
import type { KubeSettings } from "../access/access.ts";
import type { AccessPorts, Login } from "../access/credentials.ts";
import { Credentials } from "../access/credentials.ts";
import type { Variables } from "../access/environment-proxy.ts";
import { toServerText } from "../access/server-url.ts";
import { KubeError } from "../kube-error.ts";
import type { RateOptions } from "./rate-limit.ts";
import { RateLimit } from "./rate-limit.ts";
import type { CallOptions, KubeRequest } from "../request.ts";
import { isRead, toActionText } from "../request.ts";
import type { FailureContext } from "../failure/failure-context.ts";
import { toAnswerFailure } from "../failure/status-failure.ts";
import { Tries, type TriesPorts } from "./tries.ts";
import { TryLimit } from "./try-limit.ts";
import type { TransportOptions } from "./transport.ts";
import { Transport } from "./transport.ts";
import { isNeverBegun, isNotSigned, toBrokenFailure } from "../failure/transport-failure.ts";

/** What the client touches of the outside world. */
export interface KubePorts extends AccessPorts {
  readonly random: Random;
}

/** How a client behaves towards its server, and what its messages say. */
export interface KubeOptions extends RateOptions, TransportOptions {
  /** ClusterRole that permits what this client does, for the message when it does not. */
  readonly role?: string | undefined;
  /** What to do when the API server does not take our credentials, for the message. */
  readonly renewal?: string | undefined;
}

/** An answer whose body is still to come. */
export interface OpenAnswer {
  readonly response: Response;
  readonly login: Login;
}

/** For one request with all its tries, in milliseconds. */
const REQUEST_LIMIT_MS = 5_000;

type Read<T> = (answer: OpenAnswer, limit: TryLimit) => Promise<T>;
type Limits = { readonly signal: AbortSignal | undefined; readonly limitMs: number };
type Outcome<T> = { readonly value: T } | { readonly failure: KubeError };

/**
 * Makes requests until they succeed, fail for good, or their time is over. Throws KubeError, and NetplugError for settings that make no
 * sense.
 */
export class Requester {
  /** Requests sent so far, and how many of them were further tries. */
  readonly counts = { requests: 0, retries: 0 };
  readonly #ports: KubePorts;
  readonly #hints: Pick<FailureContext, "role" | "renewal">;
  readonly #credentials: Credentials;
  readonly #transport: Transport;
  readonly #rate: RateLimit;
  readonly #proxyVariables: Variables;
  readonly #triesPorts: TriesPorts;

  constructor(settings: KubeSettings, ports: KubePorts, options: KubeOptions) {
    this.#ports = ports;
    this.#hints = { role: options.role, renewal: options.renewal };
    this.#credentials = new Credentials(settings, ports);
    this.#proxyVariables = options.usesProxyVariables === true ? ports.env : {};
    this.#transport = new Transport(options, this.#proxyVariables);
    this.#rate = new RateLimit(options, ports.clock);
    const doubtDenial: TriesPorts["doubtDenial"] = (denial, login, signal) => this.#doubtDenial(denial, login, signal);
    this.#triesPorts = { ...ports, credentials: this.#credentials, doubtDenial };
  }

  /** Where requests go and as whom. */
  login(): Promise<Login> {
    return this.#credentials.get();
  }

  /** Makes a request and reads the whole answer. */
  async call(request: KubeRequest, options: CallOptions): Promise<string> {
    return await this.#repeat(request, options, async ({ response }) => await response.text());
  }

  /** Makes a request whose answer goes on until `signal` ends it; the limit holds for its beginning. */
  async open(request: KubeRequest, options: CallOptions): Promise<OpenAnswer> {
    return await this.#repeat(request, options, async (answer, limit) => {
      limit.release();
      return answer;
    });
  }

  /** What the message of a failure inside an answer needs, such as one of a watch. */
  contextOf({ identity }: Login): FailureContext {
    return { identity: identity.label, actsAs: identity.impersonate?.user, ...this.#hints };
  }

  close(): void {
    this.#transport.close();
  }

  async #repeat<T>(request: KubeRequest, { signal, limitMs = REQUEST_LIMIT_MS }: CallOptions, read: Read<T>): Promise<T> {
    // No await when the credentials are known, nor for a turn that has come: so the request is sent before the caller goes on.
    const login = this.#credentials.known ?? (await this.#credentials.get());
    const tries = new Tries(request, login, limitMs, this.#triesPorts);
    for (;;) {
      const waitMs = this.#rate.take();
      if (waitMs > 0) await this.#waitForTurn(request, waitMs, tries.leftMs, { signal, limitMs });
      using limit = new TryLimit(this.#ports.clock, tries.leftMs, limitMs, signal);
      const outcome = await this.#try(request, tries.login, limit, read);
      if ("value" in outcome) return outcome.value;
      if (signal?.aborted === true) throw interrupted(request, signal.reason);
      const pauseMs = await tries.goOn(outcome.failure, limit.signal);
      this.counts.retries++;
      if (pauseMs > 0) await this.#sleep(request, pauseMs, signal);
    }
  }

  async #try<T>(request: KubeRequest, login: Login, limit: TryLimit, read: Read<T>): Promise<Outcome<T>> {
    let isAnswered = false;
    this.counts.requests++;
    try {
      const response = await this.#transport.send(request, login, limit.signal);
      isAnswered = true;
      if (response.ok) return { value: await read({ response, login }, limit) };
      return { failure: await this.#toFailure(request, response, login) };
    } catch (thrown) {
      // A connection whose other end has vanished looks alive for a quarter of an hour, so the next try gets another one.
      this.#transport.close();
      if (!isAnswered && (isNeverBegun(thrown) || isNotSigned(thrown))) {
        const { findLoginFault, findUnusedAuthorities } = await import("../access/login-fault.ts");
        const fault = isNotSigned(thrown) ? findUnusedAuthorities(login) : findLoginFault(login);
        if (fault !== undefined) throw fault;
      }
      const { access } = login;
      const server = toServerText(access, this.#proxyVariables);
      return { failure: toBrokenFailure(thrown, { request, server, authorities: access.ca?.label, isAnswered }) };
    }
  }

  async #doubtDenial(denial: KubeError, login: Login, signal: AbortSignal): Promise<KubeError | undefined> {
    const { doubtDenial } = await import("./readiness.ts");
    this.counts.requests++;
    return await doubtDenial(denial, this.#transport, login, signal);
  }

  async #waitForTurn(request: KubeRequest, waitMs: number, leftMs: number, { signal, limitMs }: Limits): Promise<void> {
    if (waitMs >= leftMs) {
      this.#rate.refund();
      throw new KubeError(
        "throttled",
        `${toActionText(request)}: not sent within ${toDurationText(limitMs)}, for so many requests are waiting; raise qps and burst`,
      );
    }
    try {
      await this.#sleep(request, waitMs, signal);
    } catch (thrown) {
      this.#rate.refund();
      throw thrown;
    }
  }

  async #sleep(request: KubeRequest, ms: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#ports.clock.sleep(ms, signal).catch((reason: unknown) => {
      throw interrupted(request, reason);
    });
  }

  async #toFailure(request: KubeRequest, response: Response, login: Login): Promise<KubeError> {
    const answer = {
      status: response.status,
      body: await readFailure(response),
      retryAfter: response.headers.get("retry-after") ?? undefined,
      now: this.#ports.clock.now(),
    };
    const certificate = certificateShown(login);
    if (answer.status !== 401 || certificate === undefined) return toAnswerFailure(request, answer, this.contextOf(login));
    const { whyRefused } = await import("../access/login-fault.ts");
    return toAnswerFailure(request, answer, { ...this.contextOf(login), renewal: whyRefused(certificate, answer.now) });
  }
}

/** The client certificate, where nothing else says who we are. */
function certificateShown({ identity }: Login): string | undefined {
  return identity.authorization === undefined ? identity.tls?.cert : undefined;
}

/** How many characters of a failed answer are read: enough for all that an API server says against the largest object. */
const LONGEST_FAILURE = 1024 * 1024;

/** Reads at most {@link LONGEST_FAILURE}: a server that is no API server might never stop. */
async function readFailure({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > LONGEST_FAILURE) break;
  }
  return text;
}

/** The failure of a request that the caller's signal ended: the signal's reason, when that is an error of ours. */
function interrupted(request: KubeRequest, reason: unknown): NetplugError {
  return reason instanceof NetplugError
    ? reason
    : new KubeError("lost", `${toActionText(request)}: interrupted`, { cause: reason, isOutcomeUnknown: !isRead(request) });
}
