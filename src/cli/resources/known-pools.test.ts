import { expect, test } from "bun:test";
import { type FakeClock, fakeClock } from "../../../test/support/time/fake-clock.ts";
import { seededRandom } from "../../../test/support/seeded-random.ts";
import { API_VERSION, type Resource } from "../../api/resource.ts";
import type { Datastore, Query } from "../../datastore/datastore.ts";
import { inFrontOf } from "../../datastore/in-front-of.ts";
import { MemoryDatastore } from "../../datastore/memory/memory-datastore.ts";
import type { CliIo } from "../io.ts";
import { runCli } from "../main.ts";
import { KnownPools } from "./known-pools.ts";

const poolOf = (name: string, cidr: string): Resource & { readonly spec: object } => ({
  apiVersion: API_VERSION,
  kind: "IPPool",
  metadata: { name },
  spec: { cidr },
});

interface World {
  readonly clock: FakeClock;
  /** Lists of all pools that were asked for. */
  lists: number;
  /** Writes these as one file. @returns stdout and stderr */
  run(verb: "create" | "apply" | "replace", pools: readonly object[]): Promise<string>;
  readonly datastore: Datastore;
}

function createWorld(): World {
  const clock = fakeClock();
  const inner = new MemoryDatastore();
  const datastore = inFrontOf(inner, {
    read: <const Q extends readonly Query[]>(queries: Q) => {
      world.lists += queries.filter((query) => query.type === "list" && query.kind === "IPPool").length;
      return inner.read(queries);
    },
    close: () => undefined,
  });
  const world: World = {
    clock,
    lists: 0,
    datastore,
    async run(verb, pools) {
      let output = "";
      const stream = { isTerminal: false, write: (text: string) => void (output += text) };
      const io = {
        stdout: stream,
        stderr: stream,
        env: { ETCD_ENDPOINTS: "http://h" },
        clock,
        random: seededRandom(1),
        pipeAt: () => undefined,
        readInput: async (source: string) =>
          await Promise.resolve(source === "-" ? pools.map((pool) => JSON.stringify(pool)).join("\n") : undefined),
        makeUuid: () => crypto.randomUUID(),
        openDatastore: () => datastore,
      } as unknown as CliIo;
      await runCli([verb, "-f", "-"], io);
      return output;
    },
  };
  return world;
}

test.each(["create", "apply"] as const)("%s of a hundred pools reads once which there are", async (verb) => {
  const world = createWorld();
  const pools: readonly object[] = Array.from({ length: 100 }, (_, i) => poolOf(`p${i}`, `10.65.${i}.0/24`));
  const reservation = {
    apiVersion: "netplug.io/v3",
    kind: "IPReservation",
    metadata: { name: "r" },
    spec: { reservedCIDRs: ["10.65.0.3"] },
  };
  expect((await world.run(verb, pools.toSpliced(50, 0, reservation))).match(/created/g)).toHaveLength(101);
  expect(world.lists).toBe(1);
});

test("pools may overlap neither each other in one file nor those that there were", async () => {
  const world = createWorld();
  const [a, b] = [poolOf("a", "10.66.0.0/16"), poolOf("b", "10.67.0.0/16")];
  await world.run("create", [poolOf("old", "10.65.0.0/16")]);
  const overlapping = [poolOf("inside", "10.66.1.0/24"), poolOf("around", "10.66.0.0/15")];
  const refused = await world.run("apply", [a, ...overlapping, b]);
  expect(refused).toContain(
    'validate IPPool "inside" (stdin, document 2): spec.cidr: 10.66.1.0/24 overlaps ippool "a" (10.66.0.0/16) of stdin',
  );
  expect(refused).toContain(
    'validate IPPool "around" (stdin, document 3): spec.cidr: 10.66.0.0/15 overlaps ippool "a" (10.66.0.0/16) of stdin',
  );
  const names = async (): Promise<readonly string[]> =>
    (await world.datastore.read([{ type: "list", kind: "IPPool" }]))[0].map(({ value }) => value.metadata.name);
  expect(await names()).toEqual(["old"]);
  const output = await world.run("apply", [a, poolOf("c", "10.65.1.0/24"), b]);
  expect(output).toContain('create ippool "c": 10.65.1.0/24 overlaps ippool "old" (10.65.0.0/16)');
  expect(await names()).toEqual(["a", "b", "old"]);
});

test("pools that overlap already, as kubectl can make them, are written as they are, and changed", async () => {
  const world = createWorld();
  const [a, b] = [poolOf("a", "10.66.0.0/16"), poolOf("b", "10.66.1.0/24")];
  await world.run("create", [a]);
  await world.datastore.commit([{ op: "create", resource: b }]);
  expect(await world.run("apply", [a, b])).toBe("ippool/a unchanged\nippool/b configured\n");
  expect(await world.run("apply", [a, b])).toBe("ippool/a unchanged\nippool/b unchanged\n");
  const disabled = { ...b, spec: { ...b.spec, disabled: true } };
  expect(await world.run("replace", [a, disabled])).toBe("ippool/a unchanged\nippool/b replaced\n");
  const refused = await world.run("apply", [a, b, poolOf("c", "10.67.0.0/16"), poolOf("d", "10.67.1.0/24")]);
  expect(refused).toContain('validate IPPool "d" (stdin, document 4): spec.cidr: 10.67.1.0/24 overlaps ippool "c" (10.67.0.0/16) of stdin');
});

test("what others write is known a second later, and at once after a conflict", async () => {
  const world = createWorld();
  const known = new KnownPools(world.datastore, world.clock);
  const names = async (): Promise<readonly string[]> => [...(await known.cidrs()).keys()];
  await world.run("create", [poolOf("a", "10.66.0.0/16")]);
  expect(await names()).toEqual(["a"]);
  await world.run("create", [poolOf("b", "10.67.0.0/16")]);
  expect(await names()).toEqual(["a"]);
  await world.clock.advance(1_000);
  expect(await names()).toEqual(["a", "b"]);
  await world.run("create", [poolOf("c", "10.68.0.0/16")]);
  known.forget();
  expect(await names()).toEqual(["a", "b", "c"]);
});
