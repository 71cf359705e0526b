/** Leader election and events on a real API server, which checks every field of both. */

import { expect } from "bun:test";
import { EventRecorder } from "../../src/kube/events.ts";
import { withLease } from "../../src/kube/lease.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { openClient, realPorts, until } from "./support/real-api.ts";

const [test, api] = onApiServer(() => startApiServer());

test("of many that want a lease one works at a time, and each gets its turn (needs cluster)", async () => {
  const names = ["a", "b", "c", "d", "e"];
  let working = 0;
  let most = 0;
  const turns: string[] = [];
  const errors: string[] = [];
  const looks = new Map<string, number>();
  const compete = async (identity: string): Promise<void> => {
    const client = openClient(api);
    const { get } = client;
    Object.assign(client, {
      get: async (...args: Parameters<typeof get>) => {
        looks.set(identity, (looks.get(identity) ?? 0) + 1);
        return await get.apply(client, args);
      },
    });
    await withLease(
      {
        client,
        ...realPorts,
        lease: { namespace: "kube-system", name: "netplug-test" },
        identity,
        durationMs: 30_000,
        renewLimitMs: 20_000,
        periodMs: 100,
        signal: new AbortController().signal,
        onError: (message) => errors.push(message),
      },
      async () => {
        turns.push(identity);
        most = Math.max(most, ++working);
        // whoever looks twice has once looked while we have it
        const others = names.filter((name) => !turns.includes(name));
        const wanted = new Map(others.map((name) => [name, (looks.get(name) ?? 0) + 2]));
        await until("the others", async () => others.every((name) => (looks.get(name) ?? 0) >= (wanted.get(name) ?? 0)));
        working--;
      },
    );
    client.close();
  };
  await Promise.all(names.map(compete));
  expect(most).toBe(1);
  expect(turns.toSorted()).toEqual(names);
  expect(errors).toEqual([]);
  const lease = JSON.parse(await api.kubectl(["get", "lease", "netplug-test", "-n", "kube-system", "-o", "json"])) as {
    readonly spec: object;
  };
  expect(lease.spec).toMatchObject({ leaseTransitions: 4, leaseDurationSeconds: 1 });
});

test("of a holder that died without a word the lease is taken after its duration (needs cluster)", async () => {
  const died = new AbortController();
  const options = {
    client: openClient(api),
    ...realPorts,
    lease: { namespace: "kube-system", name: "netplug-dead" },
    durationMs: 1_000,
    renewLimitMs: 800,
    periodMs: 100,
  };
  // A client that cannot reach the server any more neither renews nor gives up.
  const dying = openClient(api);
  const held = Promise.withResolvers<void>();
  const dead = withLease({ ...options, client: dying, identity: "dead", signal: died.signal }, async (signal) => {
    Object.assign(dying, { update: () => Promise.reject(new Error("gone")), get: () => Promise.reject(new Error("gone")) });
    held.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }).catch((thrown: Error) => thrown.message);
  await held.promise;
  const start = performance.now();
  await withLease({ ...options, identity: "heir", signal: new AbortController().signal }, async () => undefined);
  expect(performance.now() - start).toBeGreaterThan(700);
  expect(await dead).toContain("not renewed in time");
  options.client.close();
  dying.close();
});

test("an event is accepted, counted, and shown by kubectl describe (needs cluster)", async () => {
  const errors: string[] = [];
  const client = openClient(api);
  await api.kubectl(["create", "configmap", "thing"]);
  const { metadata } = JSON.parse(await api.kubectl(["get", "configmap", "thing", "-o", "json"])) as {
    readonly metadata: { readonly uid: string };
  };
  const recorder = new EventRecorder({
    client,
    ...realPorts,
    controller: "netplug.io/controllers",
    instance: "node-1",
    onError: (message) => errors.push(message),
  });
  const report = {
    regarding: { apiVersion: "v1", kind: "ConfigMap", name: "thing", namespace: "default", uid: metadata.uid },
    type: "Warning",
    reason: "AddressExhausted",
    action: "AllocateAddress",
    note: "no address left in pool blue",
  } as const;
  for (let i = 0; i < 3; i++) await recorder.record(report);
  await recorder.record({ ...report, regarding: { apiVersion: "v1", kind: "Node", name: "node-1" } });
  expect(errors).toEqual([]);
  const { items } = JSON.parse(await api.kubectl(["get", "events.events.k8s.io", "-A", "-o", "json"])) as {
    readonly items: readonly object[];
  };
  expect(items).toContainEqual(
    expect.objectContaining({
      reason: "AddressExhausted",
      series: expect.objectContaining({ count: 3 }),
      reportingController: "netplug.io/controllers",
    }),
  );
  const described = await api.kubectl(["describe", "configmap", "thing"]);
  expect(described).toMatch(/Warning +AddressExhausted .*no address left in pool blue/);
  client.close();
});
