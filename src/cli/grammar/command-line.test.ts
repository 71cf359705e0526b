import { expect, test } from "bun:test";
import { UsageError } from "../failures/failure.ts";
import { optionsOfAllCommands } from "./app.ts";
import { parseCommandLine } from "./command-line.ts";

test.each([
  [
    ["-n", "shop", "get", "wep"],
    ["get", "wep", "-n", "shop"],
  ],
  [
    ["--namespace=shop", "get", "wep"],
    ["get", "wep", "--namespace", "shop"],
  ],
  [
    ["-nshop", "--context", "c", "get", "wep"],
    ["get", "wep", "-n", "shop"],
  ],
  [
    ["-n", "shop", "get", "--", "wep"],
    ["get", "-n", "shop", "--", "wep"],
  ],
  [
    ["ipam", "-n", "shop", "explain", "--pod", "web"],
    ["ipam", "explain", "--pod", "web", "-n", "shop"],
  ],
  [
    ["ipam", "-nshop", "-n=b"],
    ["ipam", "-n", "shop", "-n", "b"],
  ],
  [
    ["-n", "shop", "get", "wep", "-Ao"],
    ["get", "wep", "-A", "-n", "shop", "-o"],
  ],
  [
    ["get", "-n", "shop", "wep", "-ojson"],
    ["get", "-n", "shop", "wep", "-o", "json"],
  ],
])("a namespace may be given before the command: %j is %j", (argv, words) => {
  expect(parseCommandLine(argv).words).toEqual(words);
});

test.each([
  [
    ["get", "wep", "-Ao", "wide"],
    ["get", "wep", "-A", "-o", "wide"],
  ],
  [
    ["get", "wep", "-Awojson"],
    ["get", "wep", "-Aw", "-o", "json"],
  ],
  [
    ["get", "wep", "-wl=a=b"],
    ["get", "wep", "-w", "-l", "a=b"],
  ],
  [
    ["get", "wep", "-Aw"],
    ["get", "wep", "-Aw"],
  ],
  [
    ["get", "wep", "-A=true", "-wide"],
    ["get", "wep", "-A=true", "-wide"],
  ],
  [
    ["get", "wep", "-Aw=false", "-wA=a\nb"],
    ["get", "wep", "-A", "-w=false", "-w", "-A=a\nb"],
  ],
  [
    ["get", "-A=h", "-Axh", "-xh=true", "-H=true", "-n", "-h=true", "--", "-h=true"],
    ["get", "-A=h", "-Axh", "-xh=true", "-H=true", "-n=-h=true", "--", "-h=true"],
  ],
  [
    ["get", "-AhwA=true", "-hn", "shop", "-wh=no", "-h=false=", "--help=maybe", "-Ah=x\n", "-h="],
    ["get", "-Aw", "-A=true", "-n", "shop", "-w", "-h=false=", "--help=maybe", "-A", "-h=x\n", "-h="],
  ],
  [
    ["patch", "ipp", "-p", "-Ao", "--", "-Ao"],
    ["patch", "ipp", "-p=-Ao", "--", "-Ao"],
  ],
  [
    ["get", "-n", "-Aw", "-f", "-Af", "-oAw"],
    ["get", "-n=-Aw", "-f=-Af", "-o", "Aw"],
  ],
])("letters without a value may stand before one that has it: %j is %j", (argv, words) => {
  expect(parseCommandLine(argv).words).toEqual(words);
});

test("what has no form of an option is told apart, up to --", () => {
  const argv = ["get", "--f", "-1", "-", "-o", "--o", "-p", "- a\n- b", "-A=", "--watch", "-Awx", "--x-y=z\n", "-Aw=", "--", "-2"];
  expect(parseCommandLine(argv).strays).toEqual(["--f", "-1", "-A=", "--x-y=z\n", "-w="]);
});

test.each(["-namespace", "-namespace=shop", "-all-namespaces", "-context", "-output=json", "-file"])(
  "%j, with one dash, is no letter with its value",
  (word) => {
    const { options, words, strays } = parseCommandLine(["get", word, "wep"]);
    expect([options, words, strays]).toEqual([{}, ["get", word, "wep"], [word]]);
  },
);

test.each(["--help=maybe", "-h=tru", "-h=", "--help=", "-Ah=x\ny"])("%j says neither that help is wanted nor that it is not", (word) => {
  expect(parseCommandLine(["get", word]).strays).toEqual([word.replace("-A", "-")]);
});

test.each(["--context=", "-ca -cb", "--f", "-é", "--help=maybe", "-c"])("where help is asked for, %j does not matter", (line) => {
  const wrong = line.split(" ");
  for (const help of ["-h", "--help=true", "-Ah"]) expect(parseCommandLine(["get", help, ...wrong]).strays).toEqual([]);
  const isWrong = (): void => expect(parseCommandLine(["-h=false", "get", ...wrong]).strays).toEqual([]);
  expect(isWrong).toThrow();
});

test.each([
  ["-h get ipp", "-h"],
  ["get wep -h", "get wep -h"],
  ["get wep --help", "get wep -h"],
  ["get --help=true wep -- x", "get -h"],
  ["get -Awh", "get -h"],
  ["get wep -hA=x", "get wep -h"],
  ["get -hh=TRUE", "get -h"],
  ["get -hojson", "get -h"],
  ["get -wAhn shop wep", "get -h"],
  ["get -hx wep", "get -h"],
  ["get - -ho", "get - -h"],
  ["get wep -ojson --f x -1 -h=T", "get wep -h"],
  ["-n shop get wep --help=1", "get wep -h"],
  ["ipam -Ah", "ipam -h"],
  ["ipam bogus --x=y -h", "ipam bogus -h"],
  ["-A ipam show -Ah=yes", "ipam show -h"],
  ["ipam -o json show -h", "ipam show -h"],
  ["-n get ipam --x show blocks -h", "ipam show -h"],
  ["-ojson ipam -l show show -h --bogus", "ipam show -h"],
  ["ipam -o json bogus -h", "ipam -h"],
  ["ipam bogus -o json show -h", "ipam bogus -h"],
  ["ipam -h show", "ipam -h"],
  ["ipam -h -A show --help check", "ipam show -h"],
  ["ipam -Ah -- show", "ipam -h"],
  ["help", "-h"],
  ["help get", "get -h"],
  ["help ipam", "ipam -h"],
  ["help ipam show -o json", "ipam show -h"],
  ["-n shop help get wep", "get wep -h"],
  ["help bogus", "bogus -h"],
  ["help --help", "-h"],
  ["help help get", "get -h"],
  ["help get -h=false", "get -h"],
  ["ipam help", "ipam -h"],
  ["ipam help show", "ipam show -h"],
  ["help ipam help show", "ipam show -h"],
  ["-n ipam show -h", "ipam show -h"],
  ["--namespace get -h", "get -h"],
])("help is that of the command before it, whatever options are there: %j is %j", (line, words) => {
  expect(parseCommandLine(line.split(" "))).toEqual({ options: {}, words: words.split(" "), strays: [] });
});

test.each(["get help", "delete ippool help", "ipam show help", "-n help get wep", "get -n help wep", "ipam -- help"])(
  "in %j help is no command",
  (line) => expect(parseCommandLine(line.split(" ")).words).not.toContain("-h"),
);

test.each([
  ["-n ipam show", "-n", "ipam"],
  ["--namespace=get wep -A", "--namespace", "get"],
])("in %j a namespace is missing before the command", (line, option, command) => {
  const message = `read option "${option}": got the command "${command}", want a namespace before it`;
  expect(() => parseCommandLine(line.split(" "))).toThrow(new UsageError(message));
});

test.each(["-n get get wep", "-n get", "-n get -A"])("in %j a namespace is called as a command is", (line) => {
  expect(parseCommandLine(line.split(" ")).words).toContain("get");
});

test.each([
  ["get -h=true wep -h=false", "get wep"],
  ["-h --help=0 get wep", "get wep"],
  ["-h=false -n shop get wep", "get wep -n shop"],
  ["get -Ah -hh=F", "get -A"],
  ["get -h=false --help", "get -h"],
  ["-h=false get wep -h", "get wep -h"],
  ["ipam --help=0 show -h -A", "ipam show -h"],
  ["get -h=false -Ah -h=maybe", "get -h"],
])("of several words about help the last that says yes or no counts, as with kubectl: %j is %j", (line, words) => {
  expect(parseCommandLine(line.split(" ")).words).toEqual(words.split(" "));
});

test("an empty word stays one", () => {
  expect(parseCommandLine(["", "get", "", "-h=false", ""]).words).toEqual(["", "get", "", ""]);
});

test("an option that has a value in one command has one in each", () => {
  const { withValue, withoutValue } = optionsOfAllCommands();
  expect([...withValue].filter((option) => withoutValue.has(option))).toEqual([]);
  expect([...withValue]).toEqual(expect.arrayContaining(["-f", "-l", "-n", "-o", "-p", "--ip", "--run-dir"]));
  expect([...withoutValue]).toEqual(expect.arrayContaining(["-A", "-w", "--all-namespaces"]));
});

test("the configuration file may be given so, too", () => {
  expect(parseCommandLine(["get", "wep", "-Ac", "my.cfg"])).toEqual({
    options: { config: "my.cfg" },
    words: ["get", "wep", "-A"],
    strays: [],
  });
  expect(parseCommandLine(["get", "-c", "-Ao", "--kubeconfig", "-Af"])).toEqual({
    options: { config: "-Ao", kubeconfig: "-Af" },
    words: ["get"],
    strays: [],
  });
});

test.each([
  [
    ["get", "wep", "--namespace=", "web"],
    ["get", "wep", "--namespace", "", "web"],
  ],
  [
    ["get", "ipp", "-l="],
    ["get", "ipp", "-l", ""],
  ],
  [
    ["get", "ipp", "-l=a=b", "--output=json"],
    ["get", "ipp", "-l", "a=b", "--output", "json"],
  ],
  [
    ["patch", "ipp", "--patch=spec:\n  x: 1\n"],
    ["patch", "ipp", "--patch", "spec:\n  x: 1\n"],
  ],
  [
    ["patch", "ipp", "-p", "- op: x\n  path: /y\n"],
    ["patch", "ipp", "-p", "- op: x\n  path: /y\n"],
  ],
  [
    ["get", "-f", "-", "-l", "--", "-f=-a", "--filename=--"],
    ["get", "-f", "-", "-l=--", "-f=-a", "--filename=--"],
  ],
  [
    ["ipam", "adopt", "--run-dir", "--context", "--instead-of=-c"],
    ["ipam", "adopt", "--run-dir=--context", "--instead-of=-c"],
  ],
])("a value is no option and no argument, whatever it is: %j is %j", (argv, words) => {
  expect(parseCommandLine(argv).words).toEqual(words);
});

test.each([
  [["-c", "f", "get", "ipp"], { config: "f" }, ["get", "ipp"]],
  [["-cf", "get", "ipp"], { config: "f" }, ["get", "ipp"]],
  [["-c=f", "get", "ipp"], { config: "f" }, ["get", "ipp"]],
  [["get", "--config=a=b", "ipp"], { config: "a=b" }, ["get", "ipp"]],
  [["get", "ipp", "--kubeconfig", "k", "--context", "c"], { kubeconfig: "k", context: "c" }, ["get", "ipp"]],
  [["patch", "ipp", "x", "-p", "--context"], {}, ["patch", "ipp", "x", "-p=--context"]],
  [["get", "--output", "--context", "c"], {}, ["get", "--output=--context", "c"]],
  [["get", "--", "--context", "c"], {}, ["get", "--", "--context", "c"]],
  [["get", "ipp", "constructor"], {}, ["get", "ipp", "constructor"]],
])("options that may be given anywhere are taken out, where they are options: %j", (argv, options, words) => {
  expect(parseCommandLine(argv)).toEqual({ options, words, strays: [] });
});

test.each([
  [["get", "--context"], 'read option "--context": its value is missing'],
  [["get", "--context="], 'read option "--context": its value is missing'],
  [["get", "--context", ""], 'read option "--context": its value is missing'],
  [["-c"], 'read option "-c": its value is missing'],
  [["--config", "a", "get", "-cb"], 'read option "-c": got it twice, want it once'],
  [["--context", "a", "--context=b"], 'read option "--context": got it twice, want it once'],
])("%j is wrong usage", (argv, fault) => {
  expect(() => parseCommandLine(argv)).toThrow(new UsageError(fault));
});
