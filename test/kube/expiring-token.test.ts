/** A token that really ends while a client uses it: what it is told, and that the renewed file is enough to go on. */

import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApiServer } from "../support/servers/api-server.ts";
import { writeKubeconfig } from "../support/servers/kubeconfig.ts";
import { issueShortToken, untilExpired } from "../support/servers/short-token.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { failureOf } from "../support/failure-of.ts";
import { CONFIG_MAPS, openClient, until } from "./support/real-api.ts";
import { watchNamespace } from "./support/view.ts";

const ACCOUNT = { namespace: "default", name: "reader" } as const;
const LIFE_MS = 9_000;

const [test, api] = onApiServer(
  () => startApiServer(),
  async (api) => {
    await api.kubectl(["create", "serviceaccount", ACCOUNT.name]);
    await api.kubectl(["create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps"]);
    await api.kubectl(["create", "rolebinding", "reader", "--role=reader", `--serviceaccount=${ACCOUNT.namespace}:${ACCOUNT.name}`]);
  },
);

test("calls and watches, of which no connection lasts, go on where they were once the token file is renewed (needs cluster)", async () => {
  const { namespace } = ACCOUNT;
  const put = async (name: string): Promise<unknown> => await api.kubectl(["create", "configmap", name]);
  using proxy = new TcpProxy(api.port);
  const tokenFile = join(api.folder, "reader-token");
  // Not while the token's life runs.
  await put("before");
  const token = await issueShortToken(api, ACCOUNT, LIFE_MS);
  writeFileSync(tokenFile, token);
  const cluster = { url: `https://127.0.0.1:${proxy.port}`, caFile: api.caFile };
  const settings = { kubeconfig: writeKubeconfig(join(api.folder, "reader.kubeconfig"), cluster, { tokenFile }) };

  const client = openClient(api, {}, settings);
  await using http1 = watchNamespace(openClient(api, { protocol: "http1.1" }, settings), namespace);
  await using http2 = watchNamespace(openClient(api, { protocol: "http2" }, settings), namespace);
  const views = [http1, http2];
  await until("the first object", async () => views.every(({ objects }) => objects.has("before")));
  expect((await client.get(CONFIG_MAPS, { namespace, name: "before" }))?.metadata.name).toBe("before");
  await untilExpired(api, token, LIFE_MS);

  const error = await failureOf(client.get(CONFIG_MAPS, { namespace, name: "before" }));
  expect(error).toMatchObject({ code: 108, reason: "unauthorized" });
  expect(error.message).toBe(
    `get configmaps "default/before": the API server does not accept the token in "${tokenFile}" of user "user" in kubeconfig "${settings.kubeconfig}"`,
  );
  // whoever was let in stays in: only a new connection shows the token
  await put("expired");
  await until("an object on a watch that stands", async () => views.every(({ objects }) => objects.has("expired")));
  proxy.cut();
  await until("refusals", async () => views.every(({ errors }) => errors.includes("unauthorized")));
  await put("unseen");
  await api.kubectl(["delete", "configmap", "before"]);
  expect(views.map(({ objects }) => [...objects.keys()].sort())).toEqual([
    ["before", "expired"],
    ["before", "expired"],
  ]);

  writeFileSync(tokenFile, await api.kubectl(["create", "token", ACCOUNT.name]));
  expect((await client.get(CONFIG_MAPS, { namespace, name: "unseen" }))?.metadata.name).toBe("unseen");
  client.close();
  await until("what happened meanwhile", async () =>
    views.every(({ objects }) => JSON.stringify([...objects.keys()].sort()) === '["expired","unseen"]'),
  );
  expect(views.map(({ resets }) => resets)).toEqual([1, 1]);
  expect(JSON.stringify([error, views.map(({ errors }) => errors)])).not.toContain(token);
});
