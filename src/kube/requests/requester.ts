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
import { retryDelayMs } from "./retry-policy.ts";
import type { FailureContext } from "../failure/status-failure.ts";
import { toAnswerFailure } from "../failure/status-failure.ts";
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

/** What is known of one request while it is tried: each try that fails changes it for the next. */
interface Tries {
  readonly request: KubeRequest;
  /** When there is no time left, by the monotonic clock. */
  readonly end: number;
  /** What the next try shows. */
  login: Login;
  /** How many have begun. */
  count: number;
  /** Whether other credentials were found after a refusal. */
  hasRenewed: boolean;
  /** Whether the server said that it is ready after it had denied the request. */
  wasReady: boolean;
  /** What the last one tells of, too: all but a refusal after which other credentials were found. */
  readonly failures: KubeError[];
}

type Read<T> = (answer: OpenAnswer, limit: TryLimit) => Promise<T>;
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

  constructor(settings: KubeSettings, ports: KubePorts, options: KubeOptions) {
    this.#ports = ports;
    this.#hints = { role: options.role, renewal: options.renewal };
    this.#credentials = new Credentials(settings, ports);
    this.#proxyVariables = options.usesProxyVariables === true ? ports.env : {};
    this.#transport = new Transport(options, this.#proxyVariables);
    this.#rate = new RateLimit(options, ports.clock);
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
    return { identity: identity.label, ...this.#hints };
  }

  close(): void {
    this.#transport.close();
  }

  async #repeat<T>(request: KubeRequest, options: CallOptions, read: Read<T>): Promise<T> {
    const { clock } = this.#ports;
    const { signal, limitMs = REQUEST_LIMIT_MS } = options;
    // No await when the credentials are known: so the request is sent before the caller goes on.
    const login = this.#credentials.known ?? (await this.#credentials.get());
    const end = clock.monotonic() + limitMs;
    const tries: Tries = { request, end, login, count: 1, hasRenewed: false, wasReady: false, failures: [] };
    for (; ; tries.count++) {
      const waitMs = this.#rate.take();
      if (waitMs > 0) await this.#waitForTurn(request, waitMs, end, options);
      using limit = new TryLimit(clock, end - clock.monotonic(), limitMs, signal);
      const outcome = await this.#try(request, tries.login, limit, read);
      if ("value" in outcome) return outcome.value;
      if (signal?.aborted === true) throw interrupted(request, signal.reason);
      const pauseMs = await this.#pauseAfter(outcome.failure, tries, limit);
      this.counts.retries++;
      if (pauseMs > 0) await this.#sleep(request, pauseMs, signal);
    }
  }

  /**
   * Decides whether there is another try, and notes what that must know.
   *
   * @returns milliseconds until it is made; 0: at once
   * @throws {KubeError} the failure, with what earlier ones tell, when there is none
   */
  async #pauseAfter(failure: KubeError, tries: Tries, limit: TryLimit): Promise<number> {
    if (failure.reason === "unauthorized" && (await this.#renewLogin(tries))) return 0;
    const isDenied = failure.reason === "forbidden" && failure.denied !== undefined;
    const doubted = isDenied ? await this.#doubtDenial(failure, tries.login, limit) : failure;
    if (doubted === undefined) {
      // It may have become ready since it denied this.
      if (tries.wasReady) throw failure.after(tries.failures);
      tries.wasReady = true;
      tries.failures.push(failure);
      return 0;
    }
    const { clock, random } = this.#ports;
    const pauseMs = retryDelayMs(doubted, tries.request, tries.count, tries.end - clock.monotonic(), random);
    if (pauseMs === undefined) throw doubted.after(tries.failures);
    tries.failures.push(doubted);
    return pauseMs;
  }

  /** Once in a request. @returns whether the next try can show something else */
  async #renewLogin(tries: Tries): Promise<boolean> {
    if (tries.hasRenewed || !(await this.#credentials.renew(tries.login))) return false;
    tries.hasRenewed = true;
    tries.login = await this.#credentials.get();
    return true;
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

  async #doubtDenial(denial: KubeError, login: Login, { signal }: TryLimit): Promise<KubeError | undefined> {
    const { doubtDenial } = await import("./readiness.ts");
    this.counts.requests++;
    return await doubtDenial(denial, this.#transport, login, signal);
  }

  async #waitForTurn(
    request: KubeRequest,
    waitMs: number,
    end: number,
    { signal, limitMs = REQUEST_LIMIT_MS }: CallOptions,
  ): Promise<void> {
    if (this.#ports.clock.monotonic() + waitMs >= end) {
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
    return toAnswerFailure(request, answer, this.contextOf(login));
  }
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
