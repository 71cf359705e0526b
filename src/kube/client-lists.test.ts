import { describe, expect, test } from "bun:test";
import { answering, clientOf, statusAnswer } from "../../test/kube/support/fake-api-server.ts";
import { NODES } from "./core-types.ts";

describe("a list", () => {
  const page = (names: readonly string[], next?: string): Response =>
    Response.json({
      kind: "NodeList",
      metadata: { resourceVersion: "7", continue: next },
      items: names.map((name) => ({ metadata: { name } })),
    });

  test("is read in pages", async () => {
    await using server = answering(
      () => page(["a", "b"], "t1"),
      () => page(["c"], "t2"),
      () => page(["d"]),
    );
    const pages: number[] = [];
    const onPage = (number: number): void => void pages.push(number);
    const { items, resourceVersion } = await clientOf(server).list(NODES, { labelSelector: "x=y", pageSize: 2, onPage });
    expect(pages).toEqual([2, 1, 1]);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c", "d"]);
    expect(resourceVersion).toBe("7");
    expect(server.seen.map(({ headers }) => headers["accept"])).toEqual(Array(3).fill("application/json"));
    expect(server.seen.map(({ path }) => path)).toEqual([
      "/api/v1/nodes?labelSelector=x%3Dy&limit=2",
      "/api/v1/nodes?labelSelector=x%3Dy&limit=2&continue=t1",
      "/api/v1/nodes?labelSelector=x%3Dy&limit=2&continue=t2",
    ]);
  });

  test("says how old it may be with its first page only: the others show the same state", async () => {
    await using server = answering(
      () => page(["a"], "t1"),
      () => page(["b"]),
    );
    await clientOf(server).list(NODES, { resourceVersion: "0" });
    expect(server.seen.map(({ path }) => path)).toEqual([
      "/api/v1/nodes?limit=500&resourceVersion=0",
      "/api/v1/nodes?limit=500&continue=t1",
    ]);
  });

  const expired = (): Response => statusAnswer(410, "Expired", "the provided continue parameter is too old");

  test("whose next page is too old is read again in pages: as a whole a large one may take too long", async () => {
    await using server = answering(
      () => page(["a"], "t1"),
      expired,
      () => page(["x"], "t2"),
      () => page(["y"]),
    );
    const { items } = await clientOf(server).list(NODES, { resourceVersion: "0" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["x", "y"]);
    expect(server.seen.slice(-2).map(({ path }) => path)).toEqual(["/api/v1/nodes?limit=500", "/api/v1/nodes?limit=500&continue=t2"]);
  });

  test("whose pages are too old twice is read as a whole", async () => {
    await using server = answering(
      () => page(["a"], "t1"),
      expired,
      () => page(["a"], "t2"),
      expired,
      () => page(["x", "y"]),
    );
    const { items } = await clientOf(server).list(NODES);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["x", "y"]);
    expect(server.seen.at(-1)?.path).toBe("/api/v1/nodes");
  });

  test("may have no items at all", async () => {
    await using server = answering(() => Response.json({ metadata: { resourceVersion: "1" }, items: null }));
    expect(await clientOf(server).list(NODES)).toEqual({ items: [], resourceVersion: "1", continueToken: undefined });
  });
});
