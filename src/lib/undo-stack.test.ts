import { expect, test } from "bun:test";
import { NetplugError } from "./errors.ts";
import { fakeClock } from "../../test/support/time/fake-clock.ts";
import { UndoFailed, type UndoStep, withUndo } from "./undo-stack.ts";

/** Runs three steps, throws after `failAfter` of them, and tells what was undone. */
async function runThreeSteps(failAfter: number, brokenUndo?: string): Promise<{ undone: string[]; error: unknown }> {
  const undone: string[] = [];
  const error = await withUndo({ clock: fakeClock(), undoMs: 1_000 }, async (undo) => {
    for (const [index, what] of ["address", "veth", "route"].entries()) {
      if (index === failAfter) throw new Error(`create ${what}`);
      undo.push({
        what: `delete ${what}`,
        undo: () => {
          if (what === brokenUndo) throw new Error("EBUSY");
          undone.push(what);
        },
      });
    }
  }).catch((thrown: unknown) => thrown);
  return { undone, error };
}

test.each([
  [0, "create address", []],
  [1, "create veth", ["address"]],
  [2, "create route", ["veth", "address"]],
])("a failure after %p steps undoes exactly those, last first, and is thrown as it was", async (failAfter, message, expected) => {
  const { undone, error } = await runThreeSteps(failAfter);
  expect(undone).toEqual(expected);
  expect(error).toEqual(new Error(message));
});

test("nothing is undone when the operation succeeds", async () => {
  expect(await runThreeSteps(3)).toEqual({ undone: [], error: undefined });
});

test("a step that cannot be undone does not stop the others, and the first failure stays the headline", async () => {
  const { undone, error } = await runThreeSteps(2, "veth");
  expect(undone).toEqual(["address"]);
  expect(error).toBeInstanceOf(UndoFailed);
  const failed = error as UndoFailed;
  expect(failed.message).toBe("create route (left behind: delete veth: EBUSY)");
  expect(failed.cause).toEqual(new Error("create route"));
});

test("a step that never ends is given up after the time for the way back, and the rest is still done", async () => {
  const clock = fakeClock();
  const undone: string[] = [];
  let isAborted = false;
  const steps: readonly UndoStep[] = [
    { what: "delete veth", undo: () => void undone.push("veth") },
    { what: "remove pod status", undo: () => new Promise(() => {}) },
    {
      what: "release 10.65.0.7",
      undo: (signal) => {
        signal.addEventListener("abort", () => (isAborted = true));
        return new Promise(() => {});
      },
    },
  ];
  const outcome = withUndo({ clock, undoMs: 5_000 }, async (undo) => {
    for (const step of steps) undo.push(step);
    throw new NetplugError("kernelRefused", "add route");
  }).catch((thrown: unknown) => thrown);
  await clock.advance(5_000);
  const error = (await outcome) as UndoFailed;
  expect(undone).toEqual(["veth"]);
  expect(isAborted).toBe(true);
  expect(error.message).toBe(
    "add route (left behind: release 10.65.0.7: wait for its end: not done within 5 s, remove pod status: no time left: undoing took longer than 5 s)",
  );
});
