/** A real API server that is away, stands still, or has lost its etcd: what requests end with, and how soon. */

import { describe, expect } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { KubeError } from "../../src/kube/kube-error.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { durationOf } from "../support/time/duration.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { failureOf } from "../support/failure-of.ts";
import { CONFIG_MAPS, openClient, until, WIDGET_CRD, WIDGETS } from "./support/real-api.ts";

const REF = { namespace: "default", name: "thing" };

const [test, api] = onApiServer(() => startApiServer({ users: { alice: {} } }));
const [, client] = onApiServer(
  () => openClient(api),
  (client) => client.create(CONFIG_MAPS, { metadata: REF }),
);

describe("an API server", () => {
  test("that is away is named within a second, and used again when it is back (needs cluster)", async () => {
    await api.server.stop();
    const beRefused = async (): Promise<void> => {
      const error = await failureOf(client.get(CONFIG_MAPS, REF), KubeError);
      expect(error).toMatchObject({ code: 11, retriable: true, isOutcomeUnknown: false });
      expect(error.message).toBe(`get configmaps "default/thing": ${api.url}: connection refused`);
    };
    try {
      expect(await durationOf(beRefused)).toBeLessThan(1_000);
    } finally {
      await api.server.start();
    }
    expect((await client.get(CONFIG_MAPS, REF))?.metadata.name).toBe("thing");
  });

  test("that has just started is waited for until it knows what roles permit (needs cluster)", async () => {
    await api.kubectl(["create", "clusterrole", "reader", "--verb=get", "--resource=configmaps"]);
    await api.kubectl(["create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=bob"]);
    const own = openClient(api, {}, { kubeconfig: api.issue("bob").kubeconfigFile });
    await until("the role", async () => await own.get(CONFIG_MAPS, REF));
    await api.server.stop();
    await api.server.launch();
    const reasons = new Set<string>();
    await until("an answer", async () => {
      const failure = await own.get(CONFIG_MAPS, REF).then(
        () => undefined,
        (thrown: KubeError) => thrown,
      );
      if (failure !== undefined) reasons.add(failure.reason);
      return failure === undefined;
    });
    expect([...reasons]).not.toContain("forbidden");
    await api.server.untilReady();
    own.close();
  });

  test("that has just started is waited for until it serves custom resources (needs cluster)", async () => {
    await api.kubectl(["apply", "-f", "-"], JSON.stringify(WIDGET_CRD));
    await until("the resource", async () => await client.list(WIDGETS));
    const failures = new Set<string>();
    for (let turn = 0; turn < 2; turn++) {
      await api.server.stop();
      await api.server.launch();
      await until("an answer", async () => {
        const failure = await client.get(WIDGETS, { name: "none" }).then(
          () => undefined,
          (thrown: KubeError) => thrown,
        );
        if (failure !== undefined) failures.add(failure.message);
        return failure === undefined;
      });
      await api.server.untilReady();
    }
    // Before it listens there is no connection.
    expect([...failures].filter((message) => !message.endsWith("connection refused"))).toEqual([]);
  });

  test("that stands still ends every request at its limit, and what was written then is not known (needs cluster)", async () => {
    await api.server.pause();
    try {
      const beLost = async (): Promise<void> => {
        const [read, write] = await Promise.all([
          failureOf(client.get(CONFIG_MAPS, REF), KubeError),
          failureOf(client.patch(CONFIG_MAPS, REF, { type: "merge", body: { data: { a: "1" } } }), KubeError),
        ]);
        expect(read).toMatchObject({ code: 11, reason: "lost", isOutcomeUnknown: false });
        expect(write).toMatchObject({ code: 11, reason: "lost", isOutcomeUnknown: true });
        expect(read.message).toEndWith("no answer within 5 s");
      };
      expect(await durationOf(beLost)).toBeWithin(4_900, 6_000);
    } finally {
      api.server.resume();
    }
    await until("an answer", async () => await client.get(CONFIG_MAPS, REF));
  });

  test("without its etcd answers within the limit, code 11, and works again when etcd does (needs cluster)", async () => {
    await api.etcd.stop();
    const fail = async (): Promise<void> => {
      const error = await failureOf(client.patch(CONFIG_MAPS, REF, { type: "merge", body: { data: { b: "1" } } }), KubeError);
      expect(error).toMatchObject({ code: 11, isOutcomeUnknown: true });
    };
    try {
      expect(await durationOf(fail)).toBeLessThan(6_000);
    } finally {
      await api.etcd.start();
    }
    await until("a write", async () => await client.patch(CONFIG_MAPS, REF, { type: "merge", body: { data: { b: "2" } } }));
  });
});

describe("a token that is refused", () => {
  const tokenFile = (): string => `${api.folder}/token`;
  const kubeconfig = (): string => `${api.folder}/file.kubeconfig`;
  const write = (path: string, user: object): void =>
    writeFileSync(
      path,
      JSON.stringify({
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
        clusters: [{ name: "k", cluster: { server: api.url, "certificate-authority": api.caFile } }],
        users: [{ name: "u", user }],
      }),
    );

  test("is read again from its file, and the request made again (needs cluster)", async () => {
    write(kubeconfig(), { tokenFile: tokenFile() });
    writeFileSync(tokenFile(), "expired");
    const own = openClient(api, {}, { kubeconfig: kubeconfig() });
    expect(await failureOf(own.get(CONFIG_MAPS, REF))).toMatchObject({
      code: 108,
      message: `get configmaps "default/thing": the API server does not accept the token in "${tokenFile()}" of user "u" in kubeconfig "${kubeconfig()}"`,
    });
    writeFileSync(tokenFile(), api.token);
    expect((await own.get(CONFIG_MAPS, REF))?.metadata.name).toBe("thing");
    expect(own.requester.counts).toEqual({ requests: 3, retries: 1 });
    own.close();
  });

  test("is read again from the kubeconfig, which others keep fresh (needs cluster)", async () => {
    write(kubeconfig(), { token: api.token });
    const own = openClient(api, {}, { kubeconfig: kubeconfig() });
    await own.get(CONFIG_MAPS, REF);
    write(kubeconfig(), { token: api.tokenOf("alice") });
    // Still accepted, so still shown.
    await own.get(CONFIG_MAPS, REF);
    own.close();
    const late = openClient(api, {}, { kubeconfig: kubeconfig() });
    write(kubeconfig(), { token: "expired" });
    expect(await failureOf(late.get(CONFIG_MAPS, REF))).toMatchObject({ code: 108, reason: "unauthorized" });
    write(kubeconfig(), { token: api.token });
    expect(await late.get(CONFIG_MAPS, REF)).toBeDefined();
    rmSync(kubeconfig());
    expect(await late.get(CONFIG_MAPS, REF)).toBeDefined();
    late.close();
  });
});
