/** What a caller is told of the outcome of a commit, and how the next try goes on after it. */

import { expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { SOME_WRITE, scriptedDatastore } from "../../../test/support/ipam/scripted-datastore.ts";
import type { CommitResult, Revision } from "../../datastore/datastore.ts";
import { OutcomeUnknown } from "../../datastore/outcome-unknown.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/ports.ts";
import { IP_POOLS } from "../cluster.ts";
import { type Decision, transact } from "./transact.ts";

test.each<[how: string, ending: () => Promise<CommitResult<[]>>, isApplied: boolean | undefined]>([
  ["is done", async () => ({ committed: true, revision: "8" as Revision }), true],
  ["is in conflict", async () => ({ committed: false, current: [] }), false],
  ["is refused", () => Promise.reject(new NetplugError("accessDenied", "patch: 403")), false],
  ["loses its reply", () => Promise.reject(new OutcomeUnknown("no reply")), undefined],
  ["fails for a reason that nobody foresaw", () => Promise.reject(new TypeError("undefined is not an object")), undefined],
  ["takes too long", () => new Promise(() => {}), undefined],
])("whether the outcome of a commit is known is told beside a failure of other work: it %s", async (_how, commit, isApplied) => {
  const clock = fakeClock();
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 1_000) };
  const decide = (): Decision<void> => ({ writes: [SOME_WRITE], result: undefined });
  const whileCommitting = (): never => {
    throw new Error("no such interface");
  };
  let told: boolean | undefined;
  const failing = transact(ports, [IP_POOLS], decide, { whileCommitting, onOutcome: (outcome) => void (told = outcome) });
  const failure = failing.catch((thrown: unknown) => thrown);
  await Bun.sleep(0);
  await clock.advance(1_000);
  expect(await failure).toMatchObject({ message: "no such interface" });
  expect(told).toBe(isApplied as never);
});

test("after a lost reply the same slots are tried again, after a conflict others", async () => {
  const clock: Clock = { ...fakeClock(), sleep: async () => {} };
  const ends: readonly (() => Promise<CommitResult<[]>>)[] = [
    () => Promise.reject(new OutcomeUnknown("no reply")),
    async () => ({ committed: false, current: [] }),
    () => Promise.reject(new OutcomeUnknown("no reply")),
    async () => ({ committed: true, revision: "8" as Revision }),
  ];
  const salts: bigint[] = [];
  const commit = () => ends[salts.length - 1]?.();
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock, random: () => 0.5, deadline: startDeadline(clock, 10_000) };
  await transact(ports, [IP_POOLS], (_, { salt }) => {
    salts.push(salt);
    return { writes: [SOME_WRITE], result: undefined };
  });
  expect(salts).toEqual([0n, 0n, 2n ** 47n, 2n ** 47n]);
});
