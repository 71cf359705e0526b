import { expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import type { DurableFiles } from "./durable-files.ts";
import { withFolderLock } from "./folder-lock.ts";

/** Where nobody else is at work. @returns what is done there, in order */
function openFolder() {
  const done: string[] = [];
  const disk = {
    tryLock: () => ({ [Symbol.dispose]: () => done.push("unlock") }),
    list: () => [],
  } as unknown as DurableFiles; // nothing else of it is used
  return { done, host: { clock: fakeClock(), disk, stopped: new AbortController().signal } };
}

test("work in a folder is over, and has its result, before others get the lock", async () => {
  const { done, host } = openFolder();
  expect(await withFolderLock(host, "/conf", () => done.push("work") === 1)).toBe(true);
  expect(done).toEqual(["work", "unlock"]);
});

test("work that would go on without the lock is refused by its type, whether or not it has a result", async () => {
  const { done, host } = openFolder();
  const work = async (): Promise<void> => {
    await Promise.resolve();
    done.push("work");
  };
  // @ts-expect-error: it returns a promise
  await withFolderLock(host, "/conf", work);
  // @ts-expect-error: it returns a promise
  await withFolderLock(host, "/conf", async () => (await work(), true));
  // What the type is for.
  expect(done[0]).toBe("unlock");
});
