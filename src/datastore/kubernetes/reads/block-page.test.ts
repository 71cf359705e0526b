import { expect, test } from "bun:test";
import { answering, clientOf, statusAnswer } from "../../../../test/kube/support/fake-api-server.ts";
import type { BlockPageStart } from "../../datastore.ts";
import { Batch } from "./batch.ts";
import { listBlockPage } from "./block-page.ts";

const page = (names: readonly string[], next?: string): Response =>
  Response.json({ metadata: { resourceVersion: "7", continue: next }, items: names.map((name) => ({ metadata: { name } })) });

/** The names on each page until there is no next one. */
async function readPages(...answers: readonly Response[]): Promise<readonly (readonly string[])[]> {
  await using server = answering(...answers.map((answer) => () => answer));
  const client = clientOf(server);
  const pages: (readonly string[])[] = [];
  let from: BlockPageStart | undefined;
  do {
    const { objects, next } = await listBlockPage(from, new Batch(client));
    pages.push(objects.map(({ metadata: { name = "" } }) => name));
    from = next;
  } while (from !== undefined);
  expect(server.seen).toHaveLength(answers.length);
  return pages;
}

test("each page is one request, and the last has no next one", async () => {
  expect(await readPages(page(["010-a"], "t1"), page([], "t2"), page(["010-b", "010-c"]))).toEqual([["010-a"], [], ["010-b", "010-c"]]);
});

test("no block comes twice when the list is too old before its last page", async () => {
  const expired = statusAnswer(410, "Expired", "the provided continue parameter is too old");
  const anew = page(["010-a", "010-a2", "010-b", "010-c", "fd00-d"]);
  expect(await readPages(page(["010-a"], "t1"), page(["010-b"], "t2"), expired, anew)).toEqual([["010-a"], ["010-b"], ["010-c", "fd00-d"]]);
});
