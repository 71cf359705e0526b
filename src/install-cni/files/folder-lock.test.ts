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
