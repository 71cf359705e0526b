/** What people type before they know the program: help and version in the forms of other programs, and commands without their group. */

import { expect, test } from "bun:test";
import { type CliResult, runInProcess } from "../support/cli/in-process.ts";

const run = (line: string): Promise<CliResult> => runInProcess(line.split(" "), {});

test.each([
  ["help", "--help"],
  ["help ipam", "ipam --help"],
  ["ipam help", "ipam --help"],
  ["help ipam show", "ipam show --help"],
  ["ipam help show -o json", "ipam show --help"],
  ["-n ipam show -h", "ipam show --help"],
  ["ipam -n show -h", "ipam show --help"],
  ["-n show ipam -h", "ipam --help"],
  ["ipam -n check help show", "ipam show --help"],
  ["-n get help ipam", "ipam --help"],
])("%j is help, as %j is", async (line, asked) => {
  const shown = await run(line);
  expect(shown).toEqual(await run(asked));
  expect(shown).toMatchObject({ status: 0, stdout: expect.stringContaining(`netplugctl ${asked.replace(/ ?--help/, "")}`), stderr: "" });
});

test("what a command takes is called alike in its usage and below", async () => {
  const { stdout } = await run("label --help");
  expect(stdout).toContain("  netplugctl label [-n NAMESPACE] [--overwrite] KIND NAME (KEY=VALUE|KEY-)...\n");
  expect(stdout).toContain("ARGUMENTS\n  KIND NAME (KEY=VALUE|KEY-)...  kind and name, then KEY=VALUE to set or KEY- to remove\n");
  expect((await run("--help")).stdout).toContain("netplugctl COMMAND --help, or netplugctl help COMMAND.\n");
});

test.each(["--version", "--kubeconfig /nonexistent --version", "--version --client"])("%j tells the version", async (line) => {
  expect(await run(line)).toEqual({ status: 0, stdout: expect.stringMatching(/^netplug v\d+\.\d+\.\d+\n$/), stderr: "" });
});

test.each([
  ["-V", 'read option "-V": there is none before a command', "--version"],
  ["-v version", 'read option "-v": there is none before a command', "--version"],
  ["-version", 'read option "-version": there is none before a command', "--version"],
  ["-n ipam show", 'read option "-n": got the command "ipam", want a namespace before it', "--help"],
  ["ipam -n explain --pod x", 'read option "-n": got the command "explain", want a namespace before it', "--help"],
  ["ipam --namespace=show -o json", 'read option "--namespace": got the command "show", want a namespace before it', "--help"],
  ["ipam -n shop --pod x", 'read option "--pod": there is none before a command', "ipam --help"],
  ["-n show ipam -o json", 'read option "-o": there is none before a command', "ipam --help"],
  ["-n show ipam explian", 'find command "explian": there is none, did you mean "explain"?', "ipam --help"],
  ["-n shop ipam --namespace=show -o json", 'read option "--namespace": got the command "show", want a namespace before it', "--help"],
  ["ipam -n show", 'read option "-n": there is no command behind it', "ipam --help"],
  ["-n shop", 'read option "-n": there is no command behind it', "--help"],
  ["--namespace=shop --context blue", 'read option "--namespace": there is no command behind it', "--help"],
  ["-n", 'read option "-n": there is no command behind it', "--help"],
  ["-n=-shop", 'read option "-n": there is no command behind it', "--help"],
  ["ipam -n shop", 'read option "-n": there is no command behind it', "ipam --help"],
  ["-n shop ipam", 'read option "-n": there is no command behind it', "ipam --help"],
  ["ipam -n shop show", 'read option "-n": there is none', "ipam show --help"],
  ["help bogus", 'find command "bogus": there is none', "--help"],
  ["help ipam bogus", 'find command "bogus": there is none', "ipam --help"],
  ["show", 'find command "show": there is none', "ipam show"],
  ["wait pod/web", 'find command "wait": there is none', "--help"],
  ["lables node n1", 'find command "lables": there is none, did you mean "label"?', "--help"],
  ["split 4 --name blue", 'find command "split": there is none', "ipam split --help"],
])("%j is refused with what to type", async (line, message, next) => {
  expect(await run(line)).toEqual({ status: 2, stdout: "", stderr: `netplugctl: ${message}\nnext: netplugctl ${next}\n` });
});
