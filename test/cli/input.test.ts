import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type CliWorld, createCliWorld, poolYaml } from "../support/cli.ts";

let world: CliWorld;

beforeAll(async () => {
  world = await createCliWorld();
});

afterAll(() => world[Symbol.asyncDispose]());

async function validate(stdin: string): Promise<readonly [status: number, stdout: string, stderr: string]> {
  const { status, stdout, stderr } = await world.ctl(["validate", "-f", "-"], { stdin });
  return [status, stdout, stderr];
}

const pool = (name: string, spec = "cidr: 10.65.0.0/16"): string =>
  `apiVersion: netplug.io/v3\nkind: IPPool\nmetadata: {name: ${name}}\nspec: {${spec}}\n`;

describe("several documents", () => {
  test.each([
    ["YAML", `---\n${pool("a")}--- # next\n# nothing but a comment\n---\n${pool("b")}...\n---\n${pool("c")}`],
    ["YAML with the line ends of Windows", `${pool("a")}---\n${pool("b")}---\n${pool("c")}`.replaceAll("\n", "\r\n")],
    ["JSON one after the other", `${poolYaml("a", "10.1.0.0/16")}${poolYaml("b", "10.2.0.0/16")}\n\n${poolYaml("c", "10.3.0.0/16")}`],
    ["JSON between the marks of YAML", ["a", "b", "c"].map((name) => `${poolYaml(name, "10.1.0.0/16")}\n`).join("---\n")],
    ["a list", `kind: List\napiVersion: v1\nitems: [${["a", "b", "c"].map((name) => poolYaml(name, "10.1.0.0/16")).join(", ")}]`],
  ])("as %s are all read", async (_, stdin) => {
    expect(await validate(stdin)).toEqual([0, "ippool/a valid\nippool/b valid\nippool/c valid\n", ""]);
  });

  test("a folder gives its YAML and JSON files by name, and nothing of what else is in it", async () => {
    mkdirSync(join(world.folder, "pools/deeper"), { recursive: true });
    world.file("pools/b.json", poolYaml("b", "10.2.0.0/16"));
    world.file("pools/a.yaml", pool("a"));
    world.file("pools/c.yml", pool("c"));
    world.file("pools/notes.txt", "no pool");
    world.file("pools/deeper/d.yaml", pool("d"));
    const folder = join(world.folder, "pools");
    expect(await world.done(["validate", "-f", folder])).toBe("ippool/a valid\nippool/b valid\nippool/c valid\n");
    expect(await world.done(["validate", "-f", folder, "-f", "-"], { stdin: pool("e") })).toEndWith("ippool/e valid\n");
  });

  test("one that breaks the rules among good ones stops all of them, and is named", async () => {
    const stdin = `${pool("a")}---\n${pool("b", "cidr: 10.66.0.0/99, foo: 1")}---\n${pool("c", "cidr: 10.67.0.0/16")}`;
    const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^netplugctl: validate IPPool "b" \(stdin, document 2\):\n {2}spec\.foo: .*\n {2}spec\.cidr: /),
    ]);
    expect(await world.stored("/netplug/v3/ippools/")).toEqual({});
  });

  test.each([
    [`${pool("a")}---\nkind: IPPool\nmetadata: {name: b\nspec: {}\n---\n${pool("c")}`, "document 2, near line 7: Unexpected token"],
    [`${pool("a")}---\nmetadata:\n\tname: b\n`, "document 2, near line 7: Tab characters cannot be used as indentation"],
    ["a: *nowhere\n", "near line 1: Unresolved alias"],
    ["\n# a\na: 1\nb: [1\n", "near line 4: "],
  ])("one that is no YAML is told with its place: %j", async (stdin, place) => {
    expect(await validate(stdin)).toEqual([1, "", expect.stringContaining(`read stdin: ${place}`)]);
  });
});

test.each([
  ["none.yaml", 'read "none.yaml": there is no such file\n'],
  ["https://example.com/pools.yaml", "there is no such file; of a URL give what it serves: curl -fsS URL | … -f -\n"],
  ["/dev/null", "read /dev/null: got no object, want at least one in YAML or JSON\n"],
])("what -f %s cannot give is told", async (source, message) => {
  expect(await world.ctl(["create", "-f", source])).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining(message) });
});

describe("hostile input gets one clear line:", () => {
  /** Each name stands for ten of the one before. */
  const bomb = (levels: number): string =>
    `a0: &a0 [x]\n${Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 10 }, () => `*a${i}`).join(", ")}]\n`).join("")}`;

  test.each<[string, string, string]>([
    ["aliases of aliases", `${bomb(12)}${pool("x")}`, "Excessive aliasing"],
    ["aliases just below that", `${bomb(4)}${pool("x")}`, "unknown field"],
    ["an object inside itself", "a: &a {b: *a}\n", "more than 64 levels"],
    ["deep lists", `a: ${"[".repeat(100_000)}`, "too many levels inside each other"],
    ["deep JSON", `{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "more than 64 levels of nesting"],
    ["deep indentation", Array.from({ length: 5_000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"), "too many levels inside each other"],
    ["20 MB", `a: ${"x".repeat(20_000_000)}`, "got more than 16777216 characters, want fewer"],
    ["bytes that are no text", String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i)), "want YAML or JSON"],
    [
      "a key that stands twice",
      `${pool("x")}spec: {cidr: 10.66.0.0/16}\n`,
      'read stdin: line 5: the key "spec" stands twice in one object',
    ],
    ["a key that stands twice in JSON", '{\n"kind": "IPPool",\n"kind": "Tier"\n}', 'read stdin: line 3: the key "kind" stands twice'],
    [
      "a selector that YAML takes for a tag",
      pool("x", "cidr: 10.1.0.0/16").replace("{cidr", "\n  nodeSelector: !has(gpu)\n  cidr").replace("16}", "16"),
      'line 5: a selector that begins with "!" needs quotes in YAML',
    ],
    ["keys of JavaScript's own", pool("x", "cidr: 10.1.0.0/16, __proto__: {disabled: true}"), 'spec.__proto__: unknown field "__proto__"'],
  ])("%s", async (_, stdin, message) => {
    const [status, stdout, stderr] = await validate(stdin);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect(stderr.length).toBeLessThan(1_000);
  });

  test("an object larger than the datastore takes", async () => {
    const stdin = JSON.stringify({
      ...(JSON.parse(poolYaml("x", "10.1.0.0/16")) as object),
      metadata: { name: "x", annotations: { a: "y".repeat(2_000_000) } },
    });
    const { status, stderr } = await world.ctl(["create", "-f", "-"], { stdin });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^netplugctl: write ippool "x": got 20\d{5} bytes, want at most 1048576\n/),
    ]);
  });
});
