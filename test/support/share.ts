/** For tests: what all tests of a file, or of a group, share. */

import { afterAll, beforeAll, test as always } from "bun:test";

/** What can be shared. */
export type Ending = AsyncDisposable | Disposable | { close(): void };

/** What is there now, in the order in which it was made. */
const there: Ending[] = [];

/**
 * Made before the first of the tests around it, and ended after the last. What it consists of can be named at once,
 * `const { api, node } = share(…)`; only while tests run there is something behind these names, which is another object for `===`.
 *
 * @param prepare what all of them find
 */
export function share<T extends Ending>(start: () => T | Promise<T>, prepare: (it: T) => unknown = () => {}): T {
  let made: T | undefined;
  beforeAll(async () => {
    made = await start();
    there.push(made);
    await prepare(made);
  });
  afterAll(async () => {
    if (made !== undefined) await endFrom(made);
    made = undefined;
  });
  return standIn(() => made);
}

/** {@link share} for tests that not every machine can run: where it cannot, they are skipped and nothing is made. */
export function shareIf<T extends Ending>(
  canRun: boolean,
  start: () => T | Promise<T>,
  prepare?: (it: T) => unknown,
): readonly [test: typeof always, it: T] {
  return [always.skipIf(!canRun), canRun ? share(start, prepare) : standIn<T>(() => undefined)];
}

/** Hooks run in the order of the file, but what was made later may use what was made before: it goes first. */
async function endFrom(it: Ending): Promise<void> {
  await using ends = new AsyncDisposableStack();
  if (there.includes(it)) for (const each of there.splice(there.indexOf(it))) ends.defer(() => end(each));
}

async function end(it: Ending): Promise<void> {
  if (Symbol.asyncDispose in it) await it[Symbol.asyncDispose]();
  else if (Symbol.dispose in it) it[Symbol.dispose]();
  else it.close();
}

/** An object that is used like the one that is there by then. */
function standIn<T extends object>(find: () => T | undefined): T {
  return new Proxy({} as T, {
    get(_, key) {
      const it = find();
      if (it === undefined) return standIn(() => findPart(find, key));
      const part: unknown = Reflect.get(it, key);
      // a method finds private fields in the object itself alone
      return typeof part === "function" ? (part.bind(it) as unknown) : part;
    },
    set(_, key, value) {
      const it = find();
      if (it === undefined) throw new Error(`set "${String(key)}" of what tests share: it is there only while they run`);
      return Reflect.set(it, key, value);
    },
    // of the stand-in itself these would be nothing, and a test that looks could not fail
    has: refuseToLook,
    ownKeys: refuseToLook,
  });
}

function refuseToLook(): never {
  throw new Error("list what tests share: name its parts instead");
}

function findPart(find: () => object | undefined, key: string | symbol): object | undefined {
  const it = find();
  if (it === undefined) return undefined;
  const part: unknown = Reflect.get(it, key);
  if (typeof part === "object" && part !== null) return part;
  throw new Error(`name "${String(key)}" of what tests share: only objects can be named before they are there`);
}
