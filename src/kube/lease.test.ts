import { describe, expect, test } from "bun:test";
import type { FakeApiServer } from "../../test/kube/support/fake-api-server.ts";
import { clientOf, startFakeApiServer, statusAnswer } from "../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../test/support/failure-of.ts";
import type { FakeClock } from "../../test/support/time/fake-clock.ts";
import { fakeClock } from "../../test/support/time/fake-clock.ts";
import type { KubeClient } from "./client.ts";
import { KubeError } from "./kube-error.ts";
import type { Lease, LeaseOptions } from "./lease.ts";
import { withLease } from "./lease.ts";

interface LeaseState {
  lease: Lease | undefined;
  /** When set, nothing is answered but this. */
  fault: (() => Response | Promise<Response>) | undefined;
  /** When set, called after a write was carried out, before it is answered. */
  onWrite?: () => void;
}

/** One lease, with compare-and-swap. */
function startLeaseServer(): FakeApiServer & { readonly state: LeaseState } {
  const state: LeaseState = { lease: undefined, fault: undefined };
  let revision = 0;
  const server = startFakeApiServer(({ method, body }) => {
    if (state.fault !== undefined) return state.fault();
    if (method === "GET") return state.lease === undefined ? statusAnswer(404, "NotFound", "x") : Response.json(state.lease);
    const wanted = JSON.parse(body) as Lease;
    if (method === "POST" && state.lease !== undefined) return statusAnswer(409, "AlreadyExists", "x");
    if (method === "PUT" && wanted.metadata.resourceVersion !== state.lease?.metadata.resourceVersion)
      return statusAnswer(409, "Conflict", "x");
    state.lease = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: String(++revision) } };
    state.onWrite?.();
    return Response.json(state.lease);
  });
  return { ...server, state };
}

function optionsOf(server: FakeApiServer, identity: string, clock: FakeClock, signal = new AbortController().signal): LeaseOptions {
  return {
    client: counted(clientOf(server, { qps: 0 }, clock)),
    clock,
    random: () => 0.5,
    lease: { namespace: "kube-system", name: "netplug" },
    identity,
    signal,
  };
}

/** Requests that are not answered yet. */
const requests = { pending: 0 };

function counted(client: KubeClient): KubeClient {
  const count = <A extends readonly unknown[], T>(method: (...args: A) => Promise<T>) => {
    return async (...args: A): Promise<T> => {
      requests.pending++;
      return await method.apply(client, args as never).finally(() => requests.pending--);
    };
  };
  return Object.assign(client, { get: count(client.get), create: count(client.create), update: count(client.update) });
}

/** Lets time pass in small steps; in each, requests are answered before it goes on. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await clock.advance(500);
    do await Bun.sleep(1);
    while (requests.pending > 0);
  }
}

const forever = (signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve("ended"), { once: true });
  });

describe("a lease", () => {
  test("is made when there is none, renewed while work goes on, and given up afterwards", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const working = withLease(optionsOf(server, "a", clock), () => promise);
    await pass(clock, 1_000);
    expect(server.state.lease?.spec).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
    const acquiredAt = server.state.lease?.spec?.acquireTime;
    const renewedAt = server.state.lease?.spec?.renewTime ?? "";
    await pass(clock, 10_000);
    expect(server.state.lease?.spec?.acquireTime).toBe(acquiredAt ?? "");
    expect((server.state.lease?.spec?.renewTime ?? "") > renewedAt).toBe(true);
    resolve("done");
    expect(await working).toBe("done");
    expect(server.state.lease?.spec?.holderIdentity).toBe("");
  });

  test("that another holds is waited for, and taken at once when it is given up", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const a = withLease(optionsOf(server, "a", clock), async () => {
      order.push("a begins");
      await first.promise;
      order.push("a ends");
    });
    await pass(clock, 1_000);
    const b = withLease(optionsOf(server, "b", clock), async () => void order.push("b begins"));
    await pass(clock, 60_000);
    expect(order).toEqual(["a begins"]);
    first.resolve();
    await a;
    await pass(clock, 4_000);
    await b;
    expect(order).toEqual(["a begins", "a ends", "b begins"]);
    expect(server.state.lease?.spec?.leaseTransitions).toBe(1);
  });

  test("of a holder that died is taken when it has not been renewed for its whole duration, by our own clock", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const spec = { holderIdentity: "dead", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:00.000000Z", leaseTransitions: 4 };
    server.state.lease = { metadata: { name: "netplug", namespace: "kube-system", resourceVersion: "x" }, spec };
    let hasBegun = false;
    const working = withLease(optionsOf(server, "b", clock), async () => {
      hasBegun = true;
    });
    await pass(clock, 14_000);
    expect(hasBegun).toBe(false);
    await pass(clock, 6_000);
    expect(hasBegun).toBe(true);
    await working;
  });

  test("that cannot be renewed in time ends the work, and the caller hears why", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    let endedAt = 0;
    const working = failureOf(
      withLease(optionsOf(server, "a", clock), async (signal) => {
        await forever(signal);
        endedAt = clock.monotonic();
      }),
    );
    await pass(clock, 5_000);
    server.state.fault = () => statusAnswer(403, "Forbidden", "not any more");
    await pass(clock, 20_000);
    expect(await working).toMatchObject({ code: 11, message: 'hold lease "kube-system/netplug": not renewed in time' });
    // It ends before another may begin.
    expect(endedAt).toBeLessThan(5_000 + 15_000);
  });

  test("is kept where one renewal fails, and the next is in time", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const working = withLease(optionsOf(server, "a", clock), () => promise);
    await pass(clock, 1_000);
    server.state.fault = () => statusAnswer(403, "Forbidden", "not now");
    await pass(clock, 4_000);
    server.state.fault = undefined;
    await pass(clock, 20_000);
    resolve("done");
    expect(await working).toBe("done");
  });

  test("that cannot be given up is told, and is no failure of the work", async () => {
    await using server = startLeaseServer();
    const told: string[] = [];
    const working = withLease({ ...optionsOf(server, "a", fakeClock()), onError: (message) => told.push(message) }, async () => {
      server.state.fault = () => statusAnswer(403, "Forbidden", "not any more");
      return "done";
    });
    expect(await working).toBe("done");
    expect(told).toEqual(['update leases.coordination.k8s.io "kube-system/netplug": refused: not any more']);
  });

  test("that cannot be read is an error that is told, one that another takes first is none", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const told: string[] = [];
    const onError = (message: string): number => told.push(message);
    const work = (identity: string): Promise<string | undefined> =>
      withLease({ ...optionsOf(server, identity, clock), onError }, () => Promise.resolve(identity));
    server.state.fault = () => statusAnswer(403, "Forbidden", "not yet");
    const first = work("a");
    await pass(clock, 1_000);
    expect(told).toEqual(["get leases.coordination.k8s.io is not permitted"]);
    server.state.fault = undefined;
    const others = [work("b"), work("c")];
    await pass(clock, 8_000);
    expect(await Promise.all([first, ...others])).toEqual(["a", "b", "c"]);
    expect(told).toHaveLength(1);
  });

  test("that somebody else has taken all the same ends the work at once", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const working = failureOf(withLease(optionsOf(server, "a", clock), forever));
    await pass(clock, 3_000);
    const { lease } = server.state;
    server.state.lease = { metadata: { ...lease?.metadata, resourceVersion: "stolen" }, spec: { ...lease?.spec, holderIdentity: "thief" } };
    await pass(clock, 3_000);
    expect(await working).toMatchObject({ message: 'hold lease "kube-system/netplug": another has it' });
    expect(server.state.lease?.spec?.holderIdentity).toBe("thief");
  });

  test("is not waited for any more, and given up, when the caller's signal aborts", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const holder = new AbortController();
    const waiter = new AbortController();
    const a = withLease(optionsOf(server, "a", clock, holder.signal), forever);
    await pass(clock, 1_000);
    const b = withLease(optionsOf(server, "b", clock, waiter.signal), forever);
    await pass(clock, 5_000);
    waiter.abort();
    expect(await b).toBeUndefined();
    holder.abort();
    expect(await a).toBe("ended");
    expect(server.state.lease?.spec?.holderIdentity).toBe("");
  });

  test("is not waited for any more either while a request for it has no answer", async () => {
    await using server = startLeaseServer();
    const asked = Promise.withResolvers<void>();
    server.state.fault = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    const stopping = new AbortController();
    const working = withLease(optionsOf(server, "a", fakeClock(), stopping.signal), forever);
    await asked.promise;
    stopping.abort();
    expect(await working).toBeUndefined();
  });

  test.each([
    ["made", undefined],
    ["taken", { metadata: { namespace: "kube-system", name: "netplug", resourceVersion: "old" }, spec: { holderIdentity: "" } }],
  ])("that is being %s when the caller's signal aborts is given up", async (_what, before) => {
    const stopping = new AbortController();
    await using server = startLeaseServer();
    server.state.lease = before;
    server.state.onWrite = () => stopping.abort();
    let hasBegun = false;
    const working = withLease(optionsOf(server, "a", fakeClock(), stopping.signal), async () => {
      hasBegun = true;
    });
    await working;
    expect([hasBegun, server.state.lease?.spec?.holderIdentity]).toEqual([false, ""]);
    expect(server.seen.filter(({ method }) => method !== "GET")).toHaveLength(2);
  });

  test("of work that ends only some time after the caller's signal is kept until then, and given up", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const stopping = new AbortController();
    const told: string[] = [];
    const options = { ...optionsOf(server, "a", clock, stopping.signal), onError: (message: string) => told.push(message) };
    const order: string[] = [];
    const a = withLease(options, async (signal) => {
      await forever(signal);
      await clock.sleep(40_000);
      order.push("a ends");
      return "ended";
    });
    await pass(clock, 1_000);
    const b = withLease(optionsOf(server, "b", clock), async () => void order.push("b begins"));
    await pass(clock, 1_000);
    stopping.abort();
    await pass(clock, 45_000);
    expect(await a).toBe("ended");
    await b;
    expect(order).toEqual(["a ends", "b begins"]);
    expect(told).toEqual([]);
  });

  test("of work that fails is given up, and the failure is the work's", async () => {
    await using server = startLeaseServer();
    const clock = fakeClock();
    const working = failureOf(
      withLease(optionsOf(server, "a", clock), () => Promise.reject(new Error("no"))),
      Error,
    );
    expect((await working).message).toBe("no");
    expect(server.state.lease?.spec?.holderIdentity).toBe("");
  });
});

/** How long each request of a holder takes, in milliseconds, and whether an update gets lost on its way. */
interface Slowness {
  readonly getMs?: number;
  readonly updateMs?: number;
  readonly isUpdateLost?: boolean;
}

/** What a holder asks, of one lease in memory: a write is carried out at once, however late its answer is. */
function slowClient(stored: { lease?: Lease }, clock: FakeClock, slowness: () => Slowness): KubeClient {
  const answer = async <T>(value: T, ms = 0, limitMs = Infinity): Promise<T> => {
    if (ms > 0) await clock.sleep(Math.min(ms, limitMs));
    if (ms > limitMs) throw new KubeError("lost", "no answer in time");
    return value;
  };
  const put = (lease: Lease): Lease => {
    const resourceVersion = String(Number(stored.lease?.metadata.resourceVersion ?? "0") + 1);
    return (stored.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion } });
  };
  type Options = Parameters<KubeClient["get"]>[2];
  return {
    get: (_type: unknown, _name: unknown, options?: Options) => answer(stored.lease, slowness().getMs, options?.limitMs),
    create: (_type: unknown, lease: Lease) => answer(put(lease)),
    update: (_type: unknown, lease: Lease, options?: Options) => {
      const { updateMs, isUpdateLost = false } = slowness();
      if (isUpdateLost) return answer(lease, Infinity, options?.limitMs);
      if (lease.metadata.resourceVersion !== stored.lease?.metadata.resourceVersion) throw new KubeError("conflict", "conflict");
      return answer(put(lease), updateMs, options?.limitMs);
    },
  } as unknown as KubeClient; // nothing else of it is used
}

test.each<[string, readonly Slowness[]]>([
  ["is answered late, and no other is answered", [{ updateMs: 7_900 }, { getMs: Infinity }]],
  ["takes all its time to look, and is lost then", [{ getMs: 7_900, isUpdateLost: true }]],
  ["is lost at once", [{ isUpdateLost: true }]],
])("a holder whose renewal %s ends its work before another begins", async (_name, faults) => {
  const clock = fakeClock();
  const stored: { lease?: Lease } = {};
  const [first, second = first] = faults;
  let isFaulty = false;
  let renewals = 0;
  const slowness = (): Slowness => (isFaulty ? ((renewals++ < 2 ? first : second) ?? {}) : {});
  const log: string[] = [];
  const run = (identity: string, client: KubeClient): Promise<unknown> => {
    const lease = { namespace: "kube-system", name: "netplug" };
    const options = { client, clock, random: () => 0, lease, identity, signal: new AbortController().signal };
    return withLease(options, async (signal) => {
      log.push(`${identity} begins`);
      await forever(signal);
      log.push(`${identity} ends`);
    }).catch((thrown: unknown) => thrown);
  };
  const a = run("a", slowClient(stored, clock, slowness));
  await clock.advance(10);
  void run(
    "b",
    slowClient(stored, clock, () => ({})),
  );
  await clock.advance(5_000);
  isFaulty = true;
  for (let passed = 0; passed < 60_000; passed += 500) await clock.advance(500);
  expect(log).toEqual(["a begins", "a ends", "b begins"]);
  expect(await a).toMatchObject({ message: 'hold lease "kube-system/netplug": not renewed in time' });
});
