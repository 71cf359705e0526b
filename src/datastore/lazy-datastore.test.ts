import { expect, test } from "bun:test";
import { LazyDatastore } from "./lazy-datastore.ts";
import { MemoryDatastore } from "./memory/memory-datastore.ts";

function later(): { readonly datastore: LazyDatastore; readonly loads: number[]; readonly closed: string[] } {
  const loads: number[] = [];
  const closed: string[] = [];
  const load = async () => {
    loads.push(1);
    const memory = new MemoryDatastore();
    memory.close = () => void closed.push("memory");
    return memory;
  };
  return { datastore: new LazyDatastore(new MemoryDatastore(), load), loads, closed };
}

test("nothing is loaded before the first request, and then once", async () => {
  const { datastore, loads } = later();
  expect(datastore.requests).toEqual({ roundTrips: 0, retries: 0 });
  expect(loads).toHaveLength(0);
  await Promise.all([datastore.read([{ type: "all-blocks" }]), datastore.commit([]), datastore.read([])]);
  await datastore.read([]);
  expect(loads).toHaveLength(1);
  expect(datastore.requests.roundTrips).toBe(4);
});

test("a watch loads the datastore and passes its events on", async () => {
  const ending = new AbortController();
  for await (const event of later().datastore.watch({ kinds: [], signal: ending.signal })) {
    expect(event.type).toBe("reset");
    ending.abort();
  }
});

test("what is closed while it loads is closed once it is loaded, and what was never loaded not at all", async () => {
  const { datastore, closed } = later();
  const reading = datastore.read([]);
  datastore.close();
  expect(closed).toEqual([]);
  await reading;
  expect(closed).toEqual(["memory"]);
  const other = later();
  other.datastore.close();
  expect(other.closed).toEqual([]);
});

test("what could not be loaded is loaded again by the next request", async () => {
  const { promise: written, resolve: write } = Promise.withResolvers<void>();
  let loads = 0;
  const datastore = new LazyDatastore(new MemoryDatastore(), async () => {
    if (++loads > 1) return new MemoryDatastore();
    await written;
    throw new Error("kubeconfig half written");
  });
  const failures = Promise.allSettled([datastore.read([]), datastore.commit([])]);
  write();
  expect((await failures).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(loads).toBe(1);
  expect(await datastore.read([{ type: "all-blocks" }])).toEqual([[]]);
  expect(loads).toBe(2);
});
