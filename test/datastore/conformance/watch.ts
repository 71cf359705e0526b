/** What every datastore tells a watcher. */

import { expect, test } from "bun:test";
import { makeBlock } from "../blocks.ts";
import type { Subject } from "./subject.ts";
import { makeEndpoint, makePool, makeTier, poolRef } from "../resources.ts";
import { commit, readBlock } from "../steps.ts";
import { startWatch, take, toText } from "../watch-events.ts";

export function describeWatch({ datastore, isPlain, server }: Subject): void {
  test("a watch gives a snapshot, then what changes of its kinds, until it is ended", async () => {
    await commit(datastore, { op: "create", resource: makePool("a") }, { op: "create-block", block: makeBlock("10.65.0.0/30", "n1") });
    const ending = new AbortController();
    const events = startWatch(datastore, ["IPPool", "IPAMBlock"], ending.signal);
    const [reset, one, other, inSync] = (await take(events, 4)).map(toText);
    expect([reset, ...[one, other].sort(), inSync]).toEqual(["reset", "put a", "put-block n1", "in-sync"]);

    const revision = await commit(datastore, { op: "create", resource: makePool("b") });
    const [put] = await take(events, 1);
    const wanted = {
      type: "put",
      stored: { value: { ...makePool("b"), metadata: { name: "b", resourceVersion: revision } }, revision },
    } as const;
    expect(put).toMatchObject(wanted);
    if (isPlain) expect(put).toEqual(wanted);

    await commit(datastore, { op: "create", resource: isPlain ? makeEndpoint("default", "unwanted") : makeTier("unwanted") });
    await commit(datastore, { op: "delete", ref: poolRef("a") });
    expect((await take(events, 1)).map(toText)).toEqual(["delete a"]);

    const previous = await readBlock(datastore, makeBlock("10.65.0.0/30", "n1"));
    await commit(datastore, { op: "update-block", block: makeBlock("10.65.0.0/30", "n2"), previous });
    expect((await take(events, 2)).map(toText)).toEqual(["delete-block n1", "put-block n2"]);
    await commit(datastore, { op: "delete-block", previous: await readBlock(datastore, makeBlock("10.65.0.0/30", "n2")) });
    expect((await take(events, 1)).map(toText)).toEqual(["delete-block n2"]);

    const last = events.next();
    ending.abort();
    expect((await last).done).toBe(true);
  });

  if (isPlain)
    test("a watch of a namespace tells of no other, and of all that has none", async () => {
      const endpoints = ["shop", "default", "shopping"].map((namespace) => makeEndpoint(namespace, "web"));
      await commit(datastore, ...[makePool("a"), ...endpoints].map((resource) => ({ op: "create", resource }) as const));
      const ending = new AbortController();
      const events = startWatch(datastore, ["WorkloadEndpoint", "IPPool"], ending.signal, "shop");
      expect((await take(events, 4)).map(toText).toSorted()).toEqual(["in-sync", "put a", "put web", "reset"]);
      for (const { metadata } of endpoints.toReversed())
        await commit(datastore, { op: "delete", ref: { kind: "WorkloadEndpoint", namespace: metadata.namespace ?? "", name: "web" } });
      await commit(datastore, { op: "delete", ref: poolRef("a") });
      // Each kind has an order of its own.
      const gone = (await take(events, 2)).toSorted((one, other) => toText(one).localeCompare(toText(other)));
      expect(gone).toMatchObject([
        { type: "delete", ref: { name: "a" } },
        { type: "delete", ref: { namespace: "shop" } },
      ]);
      ending.abort();
    });

  test("a watch of no kinds is in sync at once", async () => {
    const ending = new AbortController();
    const events = startWatch(datastore, [], ending.signal);
    expect((await take(events, 2)).map(toText)).toEqual(["reset", "in-sync"]);
    ending.abort();
    expect((await events.next()).done).toBe(true);
  });

  test("a watch that is ended tells no more of what it knows, and one that begins ended nothing", async () => {
    await commit(datastore, ...["a", "b", "c"].map((name) => ({ op: "create", resource: makePool(name) }) as const));
    const ending = new AbortController();
    const events = startWatch(datastore, ["IPPool"], ending.signal);
    expect((await take(events, 2)).map(toText)).toEqual(["reset", "put a"]);
    ending.abort();
    expect((await events.next()).done).toBe(true);
    expect((await startWatch(datastore, ["IPPool"], ending.signal).next()).done).toBe(true);
  });

  if (server !== undefined)
    test("while the server stays away a watch is interrupted, resumed before anything else is told, and misses nothing", async () => {
      const ending = new AbortController();
      await commit(datastore, { op: "create", resource: makePool("a") });
      const events = startWatch(datastore, ["IPPool", "IPAMBlock"], ending.signal);
      expect((await take(events, 3)).map(toText)).toEqual(["reset", "put a", "in-sync"]);
      await server.stop();
      const late = startWatch(datastore, ["IPPool", "IPAMBlock"], ending.signal);
      const interrupted = await Promise.all([take(events, 1), take(late, 1)]);
      expect(interrupted.map(([event]) => event?.type)).toEqual(["interrupted", "interrupted"]);
      await server.start();
      expect((await take(late, 4)).map(toText)).toEqual(["resumed", "reset", "put a", "in-sync"]);
      await commit(datastore, { op: "create", resource: makePool("b") });
      expect((await take(events, 1)).map(toText)).toEqual(["resumed"]);
      // Until an API server that has just started has its cache, lists come from etcd; of changes before the cache it knows none. So it may call
      // a watch from such a list too old as well (410, seen where it wrote something itself meanwhile), and all is told anew.
      const ways = isPlain ? [[]] : [[], ["reset", "put a", "in-sync"], ["reset", "put a"]];
      for (const watch of [events, late]) {
        const told: string[] = [];
        while (told.at(-1) !== "put b") told.push(...(await take(watch, 1)).map(toText));
        expect(ways).toContainEqual(told.slice(0, -1));
      }
      ending.abort();
    });

  test("a watch misses nothing of what is written while it begins", async () => {
    const ending = new AbortController();
    const events = startWatch(datastore, ["IPPool"], ending.signal);
    const names = Array.from({ length: 40 }, (_, index) => `pool-${index}`);
    const writing = (async () => {
      for (const name of names) await commit(datastore, { op: "create", resource: makePool(name) });
    })();
    const seen = new Set<string>();
    while (seen.size < names.length) {
      const { done, value } = await events.next();
      if (done === true) throw new Error("the watch ended");
      if (value.type === "put") seen.add(value.stored.value.metadata.name);
    }
    await writing;
    ending.abort();
    expect([...seen].sort()).toEqual([...names].sort());
  });
}
