/** Following a real API server through restarts, lost history and lost connections: never torn, nothing missing. */

import { describe, expect } from "bun:test";
import { cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Watch } from "@kubernetes/client-node";
import { NetplugError } from "../../src/lib/errors.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { watchOnce } from "../../src/kube/watch/connection.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { runEtcdctl } from "../support/servers/etcd.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { failureOf } from "../support/failure-of.ts";
import type { ConfigMap } from "./support/real-api.ts";
import { CONFIG_MAPS, openClient, readWithOther, realPorts, until } from "./support/real-api.ts";
import { type View, watchNamespace } from "./support/view.ts";

const [test, api] = onApiServer(() => startApiServer());

async function stored(namespace: string): Promise<Readonly<Record<string, string>>> {
  const list = JSON.parse(await api.kubectl(["get", "configmaps", "-n", namespace, "-o", "json"])) as {
    readonly items: readonly ConfigMap[];
  };
  return toTexts(list.items);
}

function toTexts(objects: Iterable<ConfigMap>): Readonly<Record<string, string>> {
  return Object.fromEntries([...objects].map(({ metadata, data }) => [metadata.name ?? "", data?.["value"] ?? ""]).toSorted());
}

async function untilEqual(view: View, namespace: string): Promise<void> {
  const wanted = JSON.stringify(await stored(namespace));
  await until(`view of ${namespace}`, async () => JSON.stringify(toTexts(view.objects.values())) === wanted);
}

async function put(client: KubeClient, namespace: string, name: string, value: string): Promise<void> {
  await client.apply(CONFIG_MAPS, { metadata: { name, namespace }, data: { value } }, { fieldManager: "test", force: true });
}

describe.each(["http1.1", "http2"] as const)("following over %s", (protocol) => {
  const namespace = protocol === "http2" ? "follow-h2" : "follow-h1";

  test("sees what is there and what changes, as the other client does (needs cluster)", async () => {
    await api.kubectl(["create", "namespace", namespace]);
    const client = openClient(api, { protocol });
    for (const name of ["a", "b", "c"]) await put(client, namespace, name, "1");
    const theirs: string[] = [];
    const other = new Watch(readWithOther(api.kubeconfigFile));
    const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace });
    const request = await other.watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { resourceVersion },
      (type: string, object: ConfigMap) => theirs.push(`${type} ${object.metadata.name}`),
      () => undefined,
    );
    const ours: string[] = [];
    const controller = new AbortController();
    const options = { namespace, resourceVersion, timeoutSeconds: 60, signal: controller.signal };
    const watching = (async () => {
      for await (const event of watchOnce(client, realPorts.clock, CONFIG_MAPS, options)) {
        if ("object" in event) ours.push(`${event.type} ${event.object.metadata.name}`);
      }
    })().catch((thrown: unknown) => thrown);
    await using view = watchNamespace(openClient(api, { protocol }), namespace);
    await until("the list", async () => view.isInSync);
    await put(client, namespace, "d", "2");
    await put(client, namespace, "a", "2");
    await client.delete(CONFIG_MAPS, { namespace, name: "b" });
    await untilEqual(view, namespace);
    await until("both watches", async () => ours.length === 3 && theirs.length === 3);
    expect(ours).toEqual(["ADDED d", "MODIFIED a", "DELETED b"]);
    expect(theirs).toEqual(ours);
    expect(view).toMatchObject({ resets: 1, errors: [] });
    request.abort();
    controller.abort(new NetplugError("tryAgainLater", "enough"));
    await watching;
  });

  test("goes on through a restart of the API server (needs cluster)", async () => {
    const client = openClient(api, { protocol });
    await using view = watchNamespace(openClient(api, { protocol }), namespace);
    await until("the list", async () => view.isInSync);
    await put(client, namespace, "before", "1");
    await untilEqual(view, namespace);
    await api.server.stop();
    await api.server.start();
    await until("a write", async () => {
      await put(client, namespace, "after", "1");
      return true;
    });
    await untilEqual(view, namespace);
    // A server that starts knows no changes from before: it may answer that the revision is too old.
    expect(view.resets).toBeLessThanOrEqual(2);
    expect(view.errors.length).toBeGreaterThan(0);
  });

  test("begins anew when history was compacted while the server was away (needs cluster)", async () => {
    const client = openClient(api, { protocol });
    await using view = watchNamespace(openClient(api, { protocol }), namespace);
    await until("the list", async () => view.isInSync);
    await api.server.stop();
    const endpoint = `--endpoints=${api.etcdEndpoint}`;
    // What nobody tells a watcher: a key that goes while it is not looking.
    await runEtcdctl([endpoint, "del", `/registry/configmaps/${namespace}/a`]);
    const [status] = JSON.parse(await runEtcdctl([endpoint, "endpoint", "status", "-w", "json"])) as readonly [
      { readonly Status: { readonly header: { readonly revision: number } } },
    ];
    await runEtcdctl([endpoint, "compact", String(status.Status.header.revision)]);
    await api.server.start();
    await until("a write", async () => {
      await put(client, namespace, "later", "1");
      return true;
    });
    await until("a new beginning", async () => view.resets === 2 && view.isInSync);
    await untilEqual(view, namespace);
    expect([...view.objects.keys()]).not.toContain("a");
  });

  test("begins anew when the etcd of the API server was restored from a backup that is older than what it saw (needs cluster)", async () => {
    const client = openClient(api, { protocol });
    const data = join(api.folder, "etcd");
    const backup = join(api.folder, `backup-${protocol}`);
    await api.etcd.stop();
    cpSync(data, backup, { recursive: true });
    await api.etcd.start();
    await until("a write", async () => {
      await put(client, namespace, "lost", "1");
      return true;
    });
    // Enough for what is written after the restore to be behind it.
    for (let value = 0; value < 100; value++) await put(client, namespace, "lost", `${value}`);
    await using view = watchNamespace(openClient(api, { protocol }), namespace);
    await until("the list", async () => view.isInSync);
    await api.server.stop();
    await api.etcd.stop();
    rmSync(data, { recursive: true });
    renameSync(backup, data);
    await api.etcd.start();
    await api.server.start();
    await put(client, namespace, "restored", "1");
    await untilEqual(view, namespace);
    expect([view.resets, [...view.objects.keys()].includes("lost")]).toEqual([2, false]);
  });

  test("a page of a list that is too old is said as such (needs cluster)", async () => {
    const client = openClient(api, { protocol });
    const first = await client.listPage(CONFIG_MAPS, { namespace, pageSize: 1 });
    await put(client, namespace, "new", "1");
    const latest = (await client.list(CONFIG_MAPS, { namespace })).resourceVersion;
    // A server that runs keeps the states that it has shown, whatever etcd forgets.
    await api.server.stop();
    await runEtcdctl([`--endpoints=${api.etcdEndpoint}`, "compact", latest]);
    await api.server.start();
    const error = await failureOf(client.listPage(CONFIG_MAPS, { namespace, pageSize: 1 }, first.continueToken));
    expect(error).toMatchObject({ reason: "expired", status: 410 });
  });
});
