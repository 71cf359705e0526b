import { expect, test } from "bun:test";
import { systemClock } from "../lib/clock.ts";
import { withUndo } from "../lib/undo-stack.ts";
import { inOrder } from "./undo-in-order.ts";

async function fail(failing: string): Promise<{ readonly undone: readonly string[]; readonly message: string }> {
  const undone: string[] = [];
  const operation = withUndo({ clock: systemClock, wayBackMs: 10_000 }, (stack) => {
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
