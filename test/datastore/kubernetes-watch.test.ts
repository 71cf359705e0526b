/** A watch of the Kubernetes API whose connections, history or objects fail. */

import { beforeEach, describe, expect } from "bun:test";
import { toBlockName } from "../../src/datastore/kubernetes/objects/block-name.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { share } from "../support/share.ts";
import { add } from "./attachments.ts";
import { createAudit } from "./audit.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { startWatch, take, toText } from "./watch-events.ts";

const audit = share(() => createAudit());
const [test, world] = onApiServer(() => KubernetesWorld.start({ args: audit.args }));
const { server, proxy, admin, pods } = world;
beforeEach(async () => {
  await world.empty();
  await world.initialise({ a: { cidr: "10.65.0.0/24" } });
});

describe("a watch (needs cluster)", () => {
  test("goes on where it was when the server closes it, and begins anew when history is gone", async () => {
    const ending = new AbortController();
    const datastore = world.openThroughProxy();
    let watches = 0;
    proxy.decide = ({ query }) => {
      if (query.get("watch") !== "true") return "pass";
      watches++;
      if (watches === 1) return "lose-request";
      return watches === 2 ? { status: 410, reason: "Expired", message: "too old resource version" } : "pass";
    };
    const events = startWatch(datastore, ["IPPool"], ending.signal);
    expect((await take(events, 6)).map(toText)).toEqual(["reset", "put a", "in-sync", "reset", "put a", "in-sync"]);
    await server.kubectl(["label", "ippool", "a", "zone=x"]);
    expect(await take(events, 1)).toMatchObject([{ type: "put", stored: { value: { metadata: { labels: { zone: "x" } } } } }]);
    ending.abort();
    datastore.close();
  });

  test("tells that it is interrupted when each is taken and ends at once, and then what has changed meanwhile", async () => {
    const ending = new AbortController();
    const datastore = world.openThroughProxy();
    proxy.decide = ({ query }) => (query.get("watch") === "true" ? "cut-body" : "pass");
    const events = startWatch(datastore, ["IPPool"], ending.signal);
    expect((await take(events, 4)).map(toText)).toEqual(["reset", "put a", "in-sync", "interrupted"]);
    await server.kubectl(["label", "ippool", "a", "zone=x"]);
    proxy.decide = () => "pass";
    const told = ["interrupted"];
    while (told.at(-1) !== "put a") told.push(...(await take(events, 1)).map(toText));
    // Once for each watch that was taken meanwhile.
    expect(told.join(" ")).toMatch(/^(?:interrupted resumed )+put a$/);
    ending.abort();
    datastore.close();
  });

  test("tells of a block that somebody has damaged that it is gone, and of its repair", async () => {
    const web = await pods.create("web");
    await add(admin, web);
    const ending = new AbortController();
    const events = startWatch(admin, ["IPAMBlock"], ending.signal);
    const [, put] = await take(events, 3);
    if (put?.type !== "put-block") throw new Error("no block");
    const { cidr, node } = put.stored.value;
    const name = toBlockName(cidr);
    const allocations = await server.kubectl(["get", "ipamblock", name, "-o", "jsonpath={.spec.allocations}"]);
    const write = (text: string) =>
      server.kubectl(["patch", "ipamblock", name, "--type=merge", "-p", JSON.stringify({ spec: { allocations: text } })]);
    await write("{");
    const reason = expect.stringContaining("its record of 1 characters is no JSON");
    expect(await take(events, 2)).toEqual([
      { type: "delete-block", ref: { cidr, node } },
      { type: "unreadable", key: `ipamblocks/${name}`, reason },
    ]);
    await write("[");
    expect((await take(events, 1)).map(toText)).toEqual(["unreadable"]);
    await write(allocations);
    expect((await take(events, 1)).map(toText)).toEqual([`put-block ${node}`]);
    ending.abort();
  });

  test("tells all kinds anew when the history of one is gone, and asks for each of them once", async () => {
    await audit.take(server);
    const ending = new AbortController();
    const datastore = world.openThroughProxy();
    const arePoolsListed = Promise.withResolvers<void>();
    let isExpired = false;
    proxy.decide = async ({ resource, query }) => {
      if (query.get("watch") !== "true") return "pass";
      if (resource === "ippools") arePoolsListed.resolve();
      if (isExpired || resource !== "tiers") return "pass";
      isExpired = true;
      // Before, nothing would be in sync, and all of it would be told once only.
      await arePoolsListed.promise;
      return { status: 410, reason: "Expired" };
    };
    const events = startWatch(datastore, ["IPPool", "Tier"], ending.signal);
    const words = (await take(events, 12)).map(toText);
    const snapshot = ["put a", "put default", "put kube-admin", "put kube-baseline"];
    expect([words[0], words.slice(1, 5).toSorted(), words[5]]).toEqual(["reset", snapshot, "in-sync"]);
    expect([words[6], words.slice(7, 11).toSorted(), words[11]]).toEqual(["reset", snapshot, "in-sync"]);
    const lists = (await audit.take(server)).flatMap((request) => /^list .*\/(\w+)\?/.exec(request)?.[1] ?? []);
    expect(lists.toSorted()).toEqual(["ippools", "ippools", "tiers", "tiers"]);
    ending.abort();
    datastore.close();
  });
});
