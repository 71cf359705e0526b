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
    ["get", "ipp", "-l", "a=b", "--output=json"],
  ],
])("an option whose value is empty is no argument: %j is %j", (argv, words) => {
  expect(parseCommandLine(argv).words).toEqual(words);
});
