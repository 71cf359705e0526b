import { describe, expect, test } from "bun:test";
import type { NetplugError } from "../../lib/errors.ts";
import { readEnvironment } from "./environment.ts";

const COMPLETE = {
  CNI_COMMAND: "ADD",
  CNI_CONTAINERID: "0123456789abcdef",
  CNI_NETNS: "/var/run/netns/pod",
  CNI_IFNAME: "eth0",
  CNI_ARGS: "IgnoreUnknown=1",
  CNI_PATH: "/opt/cni/bin",
};

function failureOf(change: Readonly<Record<string, string | undefined>>): [code: number, message: string] | undefined {
  try {
    readEnvironment({ ...COMPLETE, ...change });
    return undefined;
  } catch (thrown) {
    const { code, message } = thrown as NetplugError;
    return [code, message];
  }
}

test("reads what a runtime sets", () => {
  expect(readEnvironment(COMPLETE)).toEqual({
    command: "ADD",
    containerID: "0123456789abcdef",
    netns: "/var/run/netns/pod",
    ifName: "eth0",
    args: "IgnoreUnknown=1",
  });
});

describe("what each verb requires", () => {
  test.each([
    ["ADD", "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"],
    ["CHECK", "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"],
    ["DEL", "CNI_CONTAINERID, CNI_IFNAME"],
    ["GC", "CNI_PATH"],
    ["", "CNI_COMMAND"],
  ])("%p: all that are missing are listed in one error of code 4", (command, missing) => {
    const none = { CNI_CONTAINERID: "", CNI_NETNS: undefined, CNI_IFNAME: "", CNI_ARGS: undefined, CNI_PATH: "" };
    expect(failureOf({ CNI_COMMAND: command, ...none })).toEqual([4, `read environment: missing ${missing}`]);
  });

  test.each(["STATUS", "VERSION", "NONSENSE", "constructor"])("%p requires nothing else", (command) => {
    expect(readEnvironment({ CNI_COMMAND: command })).toEqual({
      command,
      containerID: "",
      netns: undefined,
      ifName: "",
      args: "",
    });
  });

  test("a DEL without namespace has none, also when the variable is empty", () => {
    expect(readEnvironment({ ...COMPLETE, CNI_COMMAND: "DEL", CNI_NETNS: "" }).netns).toBeUndefined();
  });
});

describe("a variable that is set and invalid is code 4, before any that is missing", () => {
  test.each([
    ["CNI_CONTAINERID", "-x"],
    ["CNI_CONTAINERID", "a/b"],
    ["CNI_CONTAINERID", "../../etc/passwd"],
    ["CNI_CONTAINERID", "a b"],
    ["CNI_CONTAINERID", "ä"],
    ["CNI_CONTAINERID", "a\n"],
    ["CNI_IFNAME", "."],
    ["CNI_IFNAME", ".."],
    ["CNI_IFNAME", "a/b"],
    ["CNI_IFNAME", "a:b"],
    ["CNI_IFNAME", "a b"],
    ["CNI_IFNAME", "eth0\u00a0"],
    ["CNI_IFNAME", "eth0\n"],
    ["CNI_IFNAME", "a\u0001"],
    ["CNI_IFNAME", "eth%d"],
    ["CNI_IFNAME", "sixteen-letters-"],
    ["CNI_IFNAME", "ä"],
    ["CNI_IFNAME", "eth0@if2"],
    ["CNI_IFNAME", "\u202eeth0"],
    ["CNI_IFNAME", "all"],
    ["CNI_IFNAME", "default"],
    ["CNI_NETNS", "var/run/netns/x"],
    ["CNI_NETNS", "/a\u0000b"],
  ])("%s=%p", (variable, value) => {
    const [code, message] = failureOf({ CNI_PATH: undefined, CNI_COMMAND: "GC", [variable]: value }) ?? [0, ""];
    expect(code).toBe(4);
    expect(message).toStartWith(`read ${variable}: got "`);
    expect(message).not.toMatch(/\p{Cc}/u);
  });

  test.each(["fifteen-letters", "eth0.5", "-x", "_", "a"])("the interface name %p and IDs with every allowed character pass", (ifName) => {
    expect(failureOf({ CNI_IFNAME: ifName, CNI_CONTAINERID: "A_b.c-9" })).toBeUndefined();
  });

  test.each([".", "..", "all", "default"])(
    "the interface name %p has the form of one, and the message says what is wrong with it",
    (ifName) => {
      const want = "want a name that the kernel does not reserve";
      expect(failureOf({ CNI_IFNAME: ifName })).toEqual([4, `read CNI_IFNAME: got "${ifName}", ${want}`]);
    },
  );

  test("a hostile value is shown cut", () => {
    const [, message] = failureOf({ CNI_CONTAINERID: "$".repeat(100_000) }) ?? [0, ""];
    expect(message.length).toBeLessThan(400);
  });
});
