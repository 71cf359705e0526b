/** Bookmarks of a real API server: whoever watches what never changes learns how far the rest has come. */

import { expect } from "bun:test";
import { watchOnce } from "../../src/kube/watch/connection.ts";
import type { KubeEvent } from "../../src/kube/watch/connection.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import type { ConfigMap } from "./support/real-api.ts";
import { CONFIG_MAPS, openClient, realPorts } from "./support/real-api.ts";

const [test, api] = onApiServer(() => startApiServer());

test.each(["http1.1", "http2"] as const)("come over %s, and lie behind what others have changed (needs cluster)", async (protocol) => {
  const client = openClient(api, { protocol });
  const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace: "default" });
  const ended = new AbortController();
  const elsewhere: string[] = [];
  const writing = (async () => {
    while (!ended.signal.aborted) {
      const { metadata } = await client.create(CONFIG_MAPS, {
        metadata: { name: `${protocol}-${elsewhere.length}`, namespace: "kube-system" },
      });
      elsewhere.push(metadata.resourceVersion ?? "");
      await Bun.sleep(200);
    }
  })();
  // a server sends one about two seconds before it ends a watch
  const options = { namespace: "default", resourceVersion, timeoutSeconds: 5, signal: ended.signal };
  const events: KubeEvent<ConfigMap>[] = [];
  for await (const event of watchOnce(client, realPorts.clock, CONFIG_MAPS, options)) events.push(event);
  ended.abort();
  await writing;
  client.close();
  expect([...new Set(events.map(({ type }) => type))]).toEqual(["OPENED", "BOOKMARK"]);
  const told = events.map((event) => (event.type === "BOOKMARK" ? event.resourceVersion : undefined)).at(-1);
  expect(elsewhere.slice(1)).toContain(told ?? "none");
});
