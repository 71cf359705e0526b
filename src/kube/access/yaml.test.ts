import { describe, expect, spyOn, test } from "bun:test";
import { parseYaml } from "./yaml.ts";

const SECTIONS = "apiVersion: v1\nkind: Config\nclusters:\n- name: c1\n";

describe("what is no YAML is told by its line:", () => {
  test.each<[what: string, text: string, line: number]>([
    ["too little indented", `${SECTIONS} cluster: {}\nusers: []\n`, 5],
    ["indented with a tab", `${SECTIONS}\tcluster: {}\nusers: []\n`, 5],
    ["two values on a line", `${SECTIONS}  cluster: a: b\nusers: []\n`, 5],
    ["a bracket that stays open", `${SECTIONS}users: [{name: u1}\ncontexts: []\n`, 5],
    ["a quote that stays open", `${SECTIONS}current-context: "one\n`, 5],
    ["one bracket too many", `${SECTIONS}users: []]\n`, 5],
    ["a character that begins no value", `${SECTIONS}current-context: @one\n`, 5],
    ["an alias of nothing", `${SECTIONS}current-context: *one\n`, 5],
    ["a list where fields are", `${SECTIONS}- users\ncontexts:\n  - a\n b: c\n`, 8],
    ["the first line", "}\n", 1],
    ["behind a value of several lines", 'a: [1,\n  2,\n  3]\nb: "x\n  y"\nc: |\n  z\n\n  z\nd: }\n', 10],
    ["behind lines that end as on Windows", `${SECTIONS} cluster: {}\n`.replaceAll("\n", "\r\n"), 5],
  ])("%s", (_what, text, line) => {
    expect(parseYaml(text)).toEqual({ faultLine: line });
  });

  test("and where a file is so long that looking for the line would take long, without it", () => {
    expect(parseYaml(`${"- a\n".repeat(300_000)}}\n`)).toEqual({ faultLine: undefined });
  });
});

/** By what is parsed for it, as time says more of the machine: about 30 parts, where one after the other line would be 480. */
test("the line of a fault in a long kubeconfig is found at once", () => {
  const entry = `- name: u\n  user:\n    client-certificate-data: ${"A".repeat(1500)}\n    client-key-data: ${"A".repeat(2300)}\n`;
  using parses = spyOn(Bun.YAML, "parse");
  expect(parseYaml(`users:\n${entry.repeat(120)} }\n${entry.repeat(120)}`)).toEqual({ faultLine: 482 });
  expect(parses.mock.calls.length).toBeWithin(2, 60);
});

test("YAML without faults gives its value", () => {
  expect(parseYaml(`${SECTIONS}  cluster: {}\n`)).toEqual({
    value: { apiVersion: "v1", kind: "Config", clusters: [{ name: "c1", cluster: {} }] },
  });
});
