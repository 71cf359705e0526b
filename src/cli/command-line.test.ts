import { expect, test } from "bun:test";
import { parseCommandLine } from "./command-line.ts";

test.each([
  [
    ["-n", "shop", "get", "wep"],
    ["get", "wep", "-n", "shop"],
  ],
  [
    ["--namespace=shop", "get", "wep"],
    ["get", "wep", "--namespace=shop"],
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
    ["get", "-n", "shop", "wep", "-ojson"],
    ["get", "-n", "shop", "wep", "-o", "json"],
  ],
])("a namespace may stand in front of the command: %j is %j", (argv, words) => {
  expect(parseCommandLine(argv).words).toEqual(words);
});
