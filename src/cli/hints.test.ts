import { expect, test } from "bun:test";
import { NetplugError } from "../lib/errors.ts";
import { toCommandLine } from "./hints.ts";
import type { CliIo, Output } from "./io.ts";
import { runCli } from "./main.ts";

/** Runs a command whose datastore refuses everything in this way. @returns stderr */
async function refused(thrown: Error, argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  let stderr = "";
  const silent: Output = { isTerminal: false, write: () => undefined };
  const read = (): Promise<never> => Promise.reject(thrown);
  // What else a command has is not asked for here.
  const io = {
    stdout: silent,
    stderr: { isTerminal: false, write: (text: string) => (stderr += text) },
    env,
    files: { readText: () => undefined },
    openDatastore: () => ({ read, close: () => undefined }),
  } as unknown as CliIo;
  expect(await runCli(argv, io)).toBe(1);
  return stderr;
}

test("the next command goes to the datastore that the options name", async () => {
  const missing = new NetplugError("notInitialised", "use datastore: it was never initialised");
  const argv = ["--kubeconfig", "/tmp/my files/admin", "ipam", "check", "--context=blue"];
  expect(await refused(missing, argv)).toEndWith("\nnext: netplugctl --kubeconfig '/tmp/my files/admin' --context blue init\n");
  expect(await refused(missing, ["ipam", "check"])).toEndWith("\nnext: netplugctl init\n");
});

test("toCommandLine() quotes what a shell would take apart", () => {
  const line = (context: string): string => toCommandLine({ program: "netplugctl", options: { context } }, "version");
  const words = (context: string): readonly string[] =>
    Bun.spawnSync(["bash", "-c", `printf '%s\\n' ${line(context)}`])
      .stdout.toString()
      .trimEnd()
      .split("\n");
  for (const context of ["admin@cluster", "a b", "$(id)", "a;b", "*", "it's", 'x"y', "it's $HOME"])
    expect(words(context)).toEqual(["netplugctl", "--context", context, "version"]);
});

test("who named no datastore is told how to, who did is not", async () => {
  const away = new NetplugError("tryAgainLater", "read from etcd: http://127.0.0.1:2379: connection refused");
  const advice = "nobody said where the datastore is: set ETCD_ENDPOINTS, or for Kubernetes DATASTORE_TYPE=kubernetes";
  expect(await refused(away, ["get", "tiers"])).toContain(`connection refused\n  ${advice}`);
  expect(await refused(away, ["get", "tiers"], { ETCD_ENDPOINTS: "http://127.0.0.1:2379" })).not.toContain(advice);
  expect(await refused(away, ["ipam", "check", "--context", "blue"])).not.toContain(advice);
});
