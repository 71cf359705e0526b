import { expect, test } from "bun:test";
import { NetplugError } from "../../lib/errors.ts";
import { CommandFailed, toFailureText } from "./failure.ts";

const call = { program: "netplugctl", options: {} };

test("what others said of a failure cannot drive the terminal", () => {
  const failure = new NetplugError("accessDenied", "read from etcd: \u001b[2J\u009b1m", { details: "one\ntwo\u001b]0;title\u0007\u202e" });
  expect(toFailureText(failure, call, ["get"])).toBe(
    "netplugctl: read from etcd: \\u{1b}[2J\\u{9b}1m (code 108)\n  one\ntwo\\u{1b}]0;title\\u{7}\\u{202e}\n",
  );
  expect(toFailureText(new CommandFailed("a\rb", { next: "get" }), call, [])).toBe("netplugctl: a\\u{d}b\nnext: netplugctl get\n");
});
