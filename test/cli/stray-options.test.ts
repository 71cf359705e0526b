/** Options that the parser of commands takes for arguments: to it, one letter behind two dashes is no name of an option. */

import { expect, test } from "bun:test";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld((one) => one.done(["init"]));

test.each([
  ["get --f pools.yaml", "--f", "--filename"],
  ["get ipp --o yaml", "--o", "--output"],
  ["get ipp --o=yaml", "--o", "--output"],
  ["get wep --n shop", "--n", "-n"],
  ["get wep --A", "--A", "-A"],
  ["get nodes --l=rack=r1", "--l", "-l"],
  ["get ipp ---output yaml", "---output", "--output"],
  ["get ipp --conf x", "--conf", "--config"],
  ["get ipp --c x", "--c", "-c"],
  ["get ipp -1", "-1", undefined],
  ["get ipp -é", "-é", undefined],
  ["get ipp --x=--y -- --z", "--x", undefined],
  ["delete ipp --f pools.yaml", "--f", "--filename"],
  ["delete --n shop wep a", "--n", "--namespace"],
  ["patch ipp blue --p {} -p {}", "--p", "--patch"],
  ["label --f node n1 a=b", "--f", undefined],
  ["label node n1 --o=true a=b", "--o", "--overwrite"],
  ["completion --b", "--b", undefined],
  ["init --x", "--x", undefined],
  ["init -1", "-1", undefined],
  ["ipam show --o json", "--o", "--output"],
  ["diff --f pools.yaml", "--f", "--filename"],
  ["get wep -namespace shop", "-namespace", "--namespace"],
  ["get wep -all-namespaces", "-all-namespaces", "--all-namespaces"],
  ["get ipp -context=blue", "-context", "--context"],
  ["apply -file pools.yaml", "-file", "--filename"],
])("%s is wrong usage: there is no option %p", async (line, option, meant) => {
  const words = line.split(" ");
  const hint = meant === undefined ? "" : `, did you mean ${meant}?`;
  const command = words[0] === "ipam" ? "ipam show" : words[0];
  expect(await world.ctl(words)).toEqual({
    status: 2,
    stdout: "",
    stderr: `netplugctl: read option "${option}": there is none${hint}\nnext: netplugctl ${command} --help\n`,
  });
});

test("an option that stands before the command is proposed as the others are", async () => {
  for (const [line, meant] of [
    ["--c x get ipp", '--c": there is none before a command, did you mean -c?'],
    ["-namespace shop get wep", '-namespace": there is none before a command, did you mean --namespace?'],
    ["ipam -namespace shop explain", '-namespace": there is none before a command, did you mean --namespace?'],
    ["-1 get", '-1": there is none before a command'],
    ["ipam --o json", '--o": there is none before a command'],
  ] as const)
    expect((await world.ctl(line.split(" "))).stderr).toStartWith(`netplugctl: read option "${meant}\n`);
  expect((await world.ctl(["bogus", "--o", "x"])).stderr).toStartWith('netplugctl: find command "bogus": there is none\n');
});

test("of an option that is there its value is refused", async () => {
  for (const [word, option, value] of [
    ["--watch=", "--watch", ""],
    ["-A=", "-A", ""],
    ["--watch=a\nb", "--watch", "a\\nb"],
    ["-A=a\x1bb", "--all-namespaces", "a\\u001bb"],
    ["--no-headers=-x", "--no-headers", "-x"],
    ["-wA=x", "--all-namespaces", "x"],
    ["-Aw=", "-w", ""],
    ["--help=maybe", "--help", "maybe"],
    ["-h=tru", "-h", "tru"],
    ["-h=", "-h", ""],
    ["-Ah=x", "-h", "x"],
  ] as const)
    expect((await world.ctl(["get", "wep", word])).stderr).toStartWith(
      `netplugctl: read option "${option}": got "${value}", want true or false\n`,
    );
});

test("letters that have no value may stand together, the last with true or false, and with that of help", async () => {
  expect(await world.done(["get", "nodes", "-Aw=false", "-o", "name"])).toBe(await world.done(["get", "nodes", "-A", "-o", "name"]));
  for (const letters of ["-Ah", "-hA", "-AhwA=false", "-hojson", "-h=true", "-Ah=true", "-h=T", "-h=1"])
    expect(await world.done(["get", "nodes", letters])).toBe(await world.done(["get", "--help"]));
});

test("what says that no help is wanted is as if it were not there, as with kubectl", async () => {
  const names = await world.done(["get", "nodes", "-o", "name"]);
  for (const word of ["-h=false", "--help=0", "-Ah=F"]) expect(await world.done(["get", "nodes", word, "-o", "name"])).toBe(names);
  expect(await world.done(["--help=false", "get", "nodes", "-o", "name"])).toBe(names);
  expect(await world.done(["get", "nodes", "-h=true", "-h=false", "-o", "name"])).toBe(names);
  expect(await world.done(["-h=false"])).toBe(await world.done([]));
});

test("a command that is asked for help gives it, whatever else is on the line", async () => {
  for (const line of [
    "-ho",
    "-hx",
    "-hojson -hx",
    "-h -c",
    "--f x -h",
    "--nope -h",
    "-1 --help",
    "-o nonsense -h",
    "--context= -h",
    "--help=maybe -h",
  ])
    expect(await world.done(["get", "nodes", ...line.split(" ")])).toBe(await world.done(["get", "--help"]));
  expect((await world.ctl(["get", "nodes", "--", "-h"])).stderr).toStartWith('netplugctl: find node "-h": there is none\n');
});

test("so does a group of commands, whatever options are on the line", async () => {
  for (const options of [
    "-Ah",
    "-A --help",
    "--nope -h",
    "--o json -h",
    "-1 -h",
    "-o json bogus -h",
    "-h show",
    "-h -c",
    "--help=maybe -h",
  ]) {
    expect(await world.done(options.split(" "))).toBe(await world.done(["--help"]));
    expect(await world.done(["ipam", ...options.split(" ")])).toBe(await world.done(["ipam", "--help"]));
  }
  expect(await world.done(["ipam", "-o", "json", "show", "-h"])).toBe(await world.done(["ipam", "show", "--help"]));
  expect((await world.ctl(["ipam", "relase", "-A", "-h"])).stderr).toStartWith(
    'netplugctl: find command "relase": there is none, did you mean',
  );
});

test("of help before a command its value is refused, and its name is proposed", async () => {
  for (const [words, message] of [
    [["-h=maybe"], '-h": got "maybe", want true or false'],
    [["ipam", "--help=maybe"], '--help": got "maybe", want true or false'],
    [["get", "--hlep"], '--hlep": there is none, did you mean --help?'],
    [["get", "--h"], '--h": there is none, did you mean --help?'],
  ] as const)
    expect((await world.ctl(words)).stderr).toStartWith(`netplugctl: read option "${message}\n`);
});

test("a letter is no misspelt command", async () => {
  for (const word of ["x", ""])
    expect((await world.ctl([word])).stderr).toBe(`netplugctl: find command "${word}": there is none\nnext: netplugctl --help\n`);
});

test("behind -- a word is what it stands for, as is one that does not begin with a dash", async () => {
  expect((await world.ctl(["get", "ipp", "--", "--f"])).stderr).toStartWith('netplugctl: find ippool "--f": there is none\n');
  expect((await world.ctl(["get", "ipp/--f"])).stderr).toStartWith('netplugctl: find ippool "--f": there is none\n');
  expect((await world.ctl(["get", "ipp", "-"])).stderr).toStartWith('netplugctl: find ippool "-": there is none\n');
});

test("behind -- there are no options to propose", async () => {
  const { status, stderr } = await world.ctl(["ipam", "split", "--", "2", "--name", "blue"]);
  expect([status, stderr]).toEqual([
    2,
    'netplugctl: read arguments: got "--name", want no more than 1\nnext: netplugctl ipam split --help\n',
  ]);
});

test("the value of an option may begin with a dash", async () => {
  await world.create(resourceYaml("Node", "n1"));
  expect((await world.ctl(["get", "nodes", "-o", "--o"])).stderr).toStartWith('netplugctl: read option "--output": got "--o", want json');
  expect((await world.ctl(["patch", "node", "n1", "-p", "-1"])).stderr).not.toContain("there is none");
  for (const words of [["-f", "-Af"], ["-f=-Af"], ["-f-Af"], ["--filename", "-Af"], ["--filename=-Af"]])
    expect((await world.ctl(["get", ...words])).stderr).toStartWith('netplugctl: read "-Af": there is no such file\n');
  expect((await world.ctl(["ledger", "--file", "-x"])).stderr).toStartWith('netplugctl: read log "-x": there is no such file');
});

test("the value of an option may have several lines, however it is attached", async () => {
  await world.create(poolYaml("lines", "10.65.0.0/24"));
  const merge = (disabled: boolean): string => `spec:\n  disabled: ${disabled}\n`;
  const operations = (disabled: boolean): string => `- op: replace\n  path: /spec/disabled\n  value: ${disabled}\n`;
  const patch = ["patch", "ippool", "lines"];
  for (const options of [
    ["--patch", merge(true)],
    [`--patch=${merge(false)}`],
    [`-p=${merge(true)}`],
    [`-p${merge(false)}`],
    ["--type=json", "-p", operations(true)],
    ["--type=json", `--patch=${operations(false)}`],
  ])
    expect([options, await world.done([...patch, ...options])]).toEqual([options, "ippool/lines patched\n"]);
});
