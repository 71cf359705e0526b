/** What stands behind stdin, which only the built program shows. */

import { expect, test } from "bun:test";
import { ledgerLine } from "../support/cli/ledger-line.ts";
import { netplugctl } from "../support/cli/netplugctl.ts";
import { startOnTerminal } from "../support/programs/terminal.ts";

function bash(line: string): readonly [status: number, stdout: string, stderr: string] {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["bash", "-c", line], {
    env: { PATH: process.env["PATH"], netplugctl },
    stderr: "pipe",
  });
  return [exitCode, stdout.toString(), stderr.toString()];
}

test.each([
  ["validate -f - </", "stdin: it is a folder, want a file"],
  ["ipam release --from-report - </", "stdin: it is a folder, want a file"],
  ["validate -f - 0>/dev/null", "stdin: EBADF (bad file descriptor)"],
  ["get ipp -c - </", "config file stdin: it is a folder, want a file"],
  ["get ipp -c - 0>/dev/null", "config file stdin: EBADF (bad file descriptor)"],
  ["get ipp -c - < <(yes | head -c 1048577)", "config file stdin: got more than 1048576 bytes, want fewer"],
])("%s fails with its reason", (line, reason) => {
  const [status, stdout, stderr] = bash(`$netplugctl ${line}`);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toStartWith(`netplugctl: read ${reason}`);
  expect(stderr.trimEnd()).not.toContain("\n");
});

test.each([
  "validate -f - -f /dev/stdin",
  "validate -f /dev/stdin -f -",
  "validate -f - -f /proc/self/fd/0",
  "-c /dev/fd/0 apply -f -",
  "--kubeconfig /dev/stdin apply -f -",
  "--kubeconfig /dev/fd/0 delete -f /dev/stdin",
  "validate -f - -f /dev/../dev/stdin",
  "validate -f /dev/fd/5 -f - 5<&0",
])("a pipe that %j names twice, whatever it is called, is refused", (line) => {
  const [status, stdout, stderr] = bash(
    `echo '{"kind":"IPPool","metadata":{"name":"a"},"spec":{"cidr":"10.65.0.0/16"}}' | $netplugctl ${line}`,
  );
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^netplugctl: read stdin: got it twice, want it once\nnext: netplugctl (validate|apply|delete) --help\n$/);
});

test.each([
  ["validate -f /dev/fd/5 -f /proc/self/fd/5", "/proc/self/fd/5"],
  ["-c /dev/fd/5 apply -f /dev/../dev/fd/5", "/dev/fd/5"],
  ["--kubeconfig /dev/fd/5 apply -f /dev/fd/5", "/dev/fd/5"],
])("so is another one that %j names twice", (line, second) => {
  const [status, stdout, stderr] = bash(
    `$netplugctl ${line} 5< <(echo '{"kind":"IPPool","metadata":{"name":"a"},"spec":{"cidr":"10.65.0.0/16"}}')`,
  );
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^netplugctl: read "[^"]*": got it twice, want it once\nnext: netplugctl (validate|apply) --help\n$/);
  expect(stderr).toContain(`"${second}"`);
});

test("what two commands of a shell give are two pipes", () => {
  const pool = (name: string, cidr: string) =>
    `<(echo '{"apiVersion":"netplug.io/v3","kind":"IPPool","metadata":{"name":"${name}"},"spec":{"cidr":"${cidr}"}}')`;
  const [status, , stderr] = bash(
    `$netplugctl validate -f ${pool("a", "10.65.0.0/16")} -f ${pool("b", "10.66.0.0/16")} -f ${pool("c", "10.67.0.0/16")}`,
  );
  expect([status, stderr]).toEqual([0, ""]);
});

test("a named pipe is read once, and refused where it is named twice: nobody would write to it again", () => {
  const object = '{"apiVersion":"netplug.io/v3","kind":"IPPool","metadata":{"name":"a"},"spec":{"cidr":"10.65.0.0/16"}}';
  const validate = (options: string) =>
    bash(
      `cd "$(mktemp -d)" && mkfifo p && ln -s p q && (timeout 10 bash -c 'echo "$0" >p' '${object}' &) && timeout 10 $netplugctl validate ${options}; status=$?; rm -r "$PWD"; exit $status`,
    );
  expect(validate("-f p")).toEqual([0, "ippool/a valid\n", ""]);
  expect(validate("-f p -f q")).toEqual([2, "", 'netplugctl: read "q": got it twice, want it once\nnext: netplugctl validate --help\n']);
});

test("what is no pipe may be named twice", () => {
  const nothing = "netplugctl: read /dev/stdin, stdin: got no object, want at least one in YAML or JSON\n";
  expect(bash("$netplugctl validate -f /dev/stdin -f - </dev/null")).toEqual([1, "", nothing]);
});

test.each(["-", "/dev/tty", "/dev/stdin"])("what a person types on a terminal is waited for, by the name %s", async (name) => {
  const typed = async (line: string, keys: string): Promise<string> => {
    await using terminal = startOnTerminal(["sh", "-c", `stty -echo; echo typing; "$0" ${line}; echo "status $?"`, netplugctl], {});
    await terminal.shows(/typing\r\n/);
    await Bun.sleep(300); // so that nothing is there yet when it begins to read
    terminal.type(keys);
    return (await terminal.shows(/status \d/)).replaceAll("\r\n", "\n");
  };
  const object = "apiVersion: netplug.io/v3\nkind: IPPool\nmetadata: {name: a}\nspec: {cidr: 10.65.0.0/16}\n";
  expect(await typed(`validate -f ${name}`, `${object}\x04`)).toBe("ippool/a valid\nstatus 0");
  expect(await typed(`ledger --file ${name}`, `${ledgerLine(1)}\n\x04`)).toMatch(/16:00:01\.000Z {3}ADD [^]*status 0$/);
});

test("a device that is no terminal is read to its end", () => {
  expect(bash("$netplugctl validate -f /dev/null")[2]).toStartWith("netplugctl: read /dev/null: got no object");
  expect(bash("$netplugctl validate -f /dev/zero")[2]).toStartWith('netplugctl: read "/dev/zero": it is larger than ');
});

test("a log may come from there, named as other input from there is", () => {
  const [status, stdout, stderr] = bash(`printf %s '${ledgerLine(1)}' | $netplugctl ledger --file -`);
  expect([status, stdout, stderr]).toEqual([0, expect.stringContaining("16:00:01.000Z   ADD "), ""]);
  expect(bash("$netplugctl ledger --file - </dev/null")).toEqual([0, "", expect.stringMatching(/^no entries in stdin; the plugin/)]);
  expect(bash("$netplugctl ledger --file - 0>/dev/null")).toEqual([1, "", "netplugctl: read log stdin: EBADF (bad file descriptor)\n"]);
  expect(bash("$netplugctl ledger --file - </")).toEqual([
    1,
    "",
    expect.stringMatching(/^netplugctl: read log stdin: it is a folder, want a file\n/),
  ]);
});

test("it may be a socket, as what Node and Bun start has it", async () => {
  await using child = Bun.spawn([netplugctl, "ledger", "--file", "-"], { stdin: "pipe", stderr: "pipe" });
  await child.stdin.write(`${ledgerLine(1)}\n`);
  await child.stdin.end();
  expect([await child.stdout.text(), await child.stderr.text(), await child.exited]).toEqual([
    expect.stringContaining("16:00:01.000Z   ADD "),
    "",
    0,
  ]);
});
