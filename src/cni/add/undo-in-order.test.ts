import { expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import { withUndo } from "../../lib/undo-stack.ts";
import { inOrder } from "./undo-in-order.ts";

async function fail(failing: string): Promise<{ readonly undone: readonly string[]; readonly message: string }> {
  const undone: string[] = [];
  const operation = withUndo({ clock: systemClock, undoMs: 10_000 }, (stack) => {
    const undo = inOrder(stack);
    for (const what of ["release delegate", "release address", "delete interface"]) {
      const step = (): void => {
        undone.push(what);
        if (what === failing) throw new Error("EBUSY");
      };
      undo.push({ what, undo: step });
    }
    return Promise.reject(new Error("set MTU: EINVAL"));
  });
  const message = await operation.then(
    () => "nothing",
    (thrown: Error) => thrown.message,
  );
  return { undone, message };
}

test("everything is undone, the last first", async () => {
  expect(await fail("nothing")).toEqual({
    undone: ["delete interface", "release address", "release delegate"],
    message: "set MTU: EINVAL",
  });
});

test("what rests on a step that failed stays, and is told", async () => {
  expect(await fail("release address")).toEqual({
    undone: ["delete interface", "release address"],
    message:
      "set MTU: EINVAL (left behind: release address: EBUSY, release delegate: not before it could release address; the next DEL does both)",
  });
});

test("what rests on a step that is given up because it takes too long stays, also when that one ends well later", async () => {
  const clock = fakeClock();
  const undone: string[] = [];
  const late = Promise.withResolvers<void>();
  const outcome = withUndo({ clock, undoMs: 5_000 }, (stack) => {
    const undo = inOrder(stack);
    undo.push({ what: "release pool", undo: () => void undone.push("release pool") });
    undo.push({ what: "release delegate", undo: () => void undone.push("release delegate") });
    undo.push({ what: "release address", undo: () => late.promise });
    undo.push({ what: "delete interface", undo: () => void undone.push("delete interface") });
    return Promise.reject(new Error("set MTU: EINVAL"));
  }).catch((thrown: Error) => thrown.message);
  await clock.advance(5_000);
  late.resolve();
  expect(await outcome).toBe(
    "set MTU: EINVAL (left behind: release address: wait for its end: not done within 5 s, " +
      "release delegate: not before it could release address; the next DEL does both, " +
      "release pool: not before it could release address; the next DEL does both)",
  );
  expect(undone).toEqual(["delete interface"]);
});
