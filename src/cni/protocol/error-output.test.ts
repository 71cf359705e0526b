import { expect, test } from "bun:test";
import { NetplugError } from "../../lib/errors.ts";
import { UndoFailed } from "../../lib/undo-stack.ts";
import { answerVersionOf, toErrorOutput } from "./error-output.ts";

test("a failure of ours keeps its code, message and details, in the version that was asked for", () => {
  const failure = new NetplugError("delegateFailed", 'ADD of "host-local" failed: no space', { details: "code 101: no space left" });
  expect(toErrorOutput(failure, "0.4.0")).toEqual({
    cniVersion: "0.4.0",
    code: 111,
    msg: 'ADD of "host-local" failed: no space',
    details: "code 101: no space left",
  });
});

test("what lay underneath is told in the details, once", () => {
  const root = new Error("connection refused");
  const failure = new NetplugError("tryAgainLater", "read pools", { cause: new Error("ask etcd", { cause: root }) });
  expect(toErrorOutput(failure).details).toBe("ask etcd; connection refused");
  const repeated = new NetplugError("tryAgainLater", "read pools: connection refused", { cause: root });
  expect(toErrorOutput(repeated)).toEqual({ cniVersion: "1.1.0", code: 11, msg: "read pools: connection refused" });
});

test("an undo that failed keeps the first failure's code, and says what was left and why", () => {
  const first = new NetplugError("kernelRefused", "add route: EEXIST");
  const step = new Error("release 10.65.0.7: no answer", { cause: new Error("no answer") });
  const output = toErrorOutput(new UndoFailed(first, [step]));
  expect(output.code).toBe(109);
  expect(output.msg).toBe("add route: EEXIST (left behind: release 10.65.0.7: no answer)");
  expect(output.details).toBeUndefined();
  const deeper = new Error("release 10.65.0.8: no answer", { cause: new Error("no answer", { cause: new Error("etcd is away") }) });
  expect(toErrorOutput(new UndoFailed(first, [step, deeper])).details).toBe("undo: etcd is away");
});

test("a defect is code 999 and shows no source text", () => {
  let thrown: unknown;
  try {
    (undefined as unknown as { connect: (password: string) => void }).connect("s3cret");
  } catch (error) {
    thrown = error;
  }
  const { code, msg } = toErrorOutput(thrown);
  expect(code).toBe(999);
  expect(msg).toBe("internal error: TypeError: undefined is not an object");
});

test("what fetch throws is told without its advice to programmers", async () => {
  using closing = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { open: (socket) => void socket.end(), data() {} } });
  const detailsOf = async (url: string): Promise<string | undefined> => {
    const cause: unknown = await fetch(url).catch((thrown: unknown) => thrown);
    return toErrorOutput(new NetplugError("tryAgainLater", "ask", { cause })).details;
  };
  expect(await detailsOf(`http://127.0.0.1:${closing.port}`)).toEndWith("The socket connection was closed unexpectedly");
  expect(await detailsOf("http://127.0.0.1:1")).toEndWith("Unable to connect");
});

test.each([["text"], [undefined], [null], [{ a: 1 }], [Symbol("x")]])("anything that is thrown gives an object: %p", (thrown) => {
  const output = toErrorOutput(thrown);
  expect(output.code).toBe(999);
  expect(typeof output.msg).toBe("string");
});

test("a loop of causes ends, and secrets go", () => {
  const loop = new Error("a");
  loop.cause = new Error("b", { cause: loop });
  expect(toErrorOutput(loop).details).toBe("b");
  const leak = new NetplugError("tryAgainLater", "ask http://root:s3cret@10.0.0.1:2379", { cause: new Error("password=s3cret") });
  expect(JSON.stringify(toErrorOutput(leak))).not.toContain("s3cret");
});

test.each([
  ['{"cniVersion":"0.3.1"}', "0.3.1"],
  ["{}", "0.1.0"],
  ['{"cniVersion":"7.0.0"}', "1.1.0"],
  ['{"cniVersion":5}', "1.1.0"],
  ["{", "1.1.0"],
  ["[]", "1.1.0"],
] as const)("the config %p is answered in %p", (text, version) => expect(answerVersionOf(text)).toBe(version));
