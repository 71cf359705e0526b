/** What tests share is there while they run, and ends in the right order. */

import { describe, expect, test } from "bun:test";
import { share, shareIf } from "../support/share.ts";

const events: string[] = [];

/** Says what becomes of it; only methods of the object itself can read its name. */
class Thing implements Disposable {
  readonly part: { count: number } = { count: 0 };
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
    events.push(`made ${name}`);
  }

  name(): string {
    return this.#name;
  }

  [Symbol.dispose](): void {
    events.push(`ended ${this.#name}`);
  }
}

describe("what a group shares", () => {
  const first = share(
    () => new Thing("first"),
    (it) => events.push(`prepared ${it.name()}`),
  );
  const { part } = first;
  const second = share(async () => new Thing(`second after ${first.name()}`));
  const closable = share(() => ({ close: () => void events.push(`closed before ${second.name()}`) }));
  const [, never] = shareIf(false, () => new Thing("never"));

  test("is made in order, with all that stands behind its names", () => {
    expect(events).toEqual(["made first", "prepared first", "made second after first"]);
    part.count++;
    expect([first.part.count, second.name(), typeof closable.close]).toEqual([1, "second after first", "function"]);
  });

  test("is not made where it cannot be used", () => {
    expect(() => never.name()).toThrow();
    expect(() => Object.assign(never, { part: 1 })).toThrow("it is there only while they run");
  });
});

test("when the group is over all has ended, what was made last first", () => {
  expect(events.splice(3)).toEqual(["closed before second after first", "ended second after first", "ended first"]);
});
