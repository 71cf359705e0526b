import { expect, test } from "bun:test";
import { UsageError } from "../failures/failure.ts";
import { parseCustomColumns } from "./custom-columns.ts";

const KNOWN = [
  { heading: "NAME", cell: () => "the name" },
  { heading: "CIDR", cell: () => "the CIDR" },
];

const OBJECT = {
  apiVersion: "netplug.io/v3",
  kind: "IPPool",
  metadata: { name: "blue", labels: { "netplug.io/zone": "z1", "it's": "x", "": "empty" } },
  spec: {
    cidr: "10.65.0.0/16",
    count: 0,
    on: false,
    uses: ["Workload", "Tunnel"],
    none: null,
    rules: [{ ports: [1, 2] }, { ports: [3] }, {}],
  },
};

test.each<[spec: string, heading: string, cell: string]>([
  ["name", "NAME", "the name"],
  ["Cidr", "CIDR", "the CIDR"],
  ["cidr:.spec.cidr", "cidr", "10.65.0.0/16"],
  ["A:spec.cidr", "A", "10.65.0.0/16"],
  ["A:{.spec.cidr}", "A", "10.65.0.0/16"],
  ["A:['spec'].cidr", "A", "10.65.0.0/16"],
  ['A:["spec"]["cidr"]', "A", "10.65.0.0/16"],
  [String.raw`A:.metadata.labels.netplug\.io/zone`, "A", "z1"],
  ["A:.metadata.labels['netplug.io/zone']", "A", "z1"],
  [`A:.metadata.labels["it's"]`, "A", "x"],
  ["A:.metadata.labels['']", "A", "empty"],
  ["A:.metadata.labels[*]", "A", "z1,x,empty"],
  ["A:.spec.uses", "A", "Workload,Tunnel"],
  ["A:.spec.uses[*]", "A", "Workload,Tunnel"],
  ["A:.spec.uses[0]", "A", "Workload"],
  ["A:.spec.uses[1]", "A", "Tunnel"],
  ["A:.spec.uses[2]", "A", "<none>"],
  ["A:.spec.uses.length", "A", "<none>"],
  ["A:.spec.rules[*].ports[0]", "A", "1,3"],
  ["A:.spec.rules[*].ports[*]", "A", "1,2,3"],
  ["A:.spec.rules[1].ports", "A", "3"],
  ["A:.spec.count", "A", "0"],
  ["A:.spec.on", "A", "false"],
  ["A:.spec.none", "A", "<none>"],
  ["A:.spec.none.deeper", "A", "<none>"],
  ["A:.spec.cidr[0]", "A", "<none>"],
  ["A:.spec.cidr.deeper", "A", "<none>"],
  ["A:.spec[0]", "A", "<none>"],
  ["A:.spec.toString", "A", "<none>"],
  ["A:.metadata.name:x", "A", "<none>"],
])("the column %j", (spec, heading, cell) => {
  const columns = parseCustomColumns(spec, KNOWN);
  expect(columns.map((column) => [column.heading, column.cell(OBJECT)])).toEqual([[heading, cell]]);
});

test("columns stand in the order in which they are given", () => {
  expect(parseCustomColumns("B:.kind,NAME,A:.kind,CIDR", KNOWN).map(({ heading }) => heading)).toEqual(["B", "NAME", "A", "CIDR"]);
});

test.each([
  ["", "got an entry without a heading, want HEADING:PATH"],
  [":.spec.cidr", "got an entry without a heading, want HEADING:PATH"],
  ["NAME,", "got an entry without a heading, want HEADING:PATH"],
  ["A:", 'got "A:", want a path such as .metadata.name behind the colon'],
  ["AGE", 'got "AGE", want HEADING:PATH, NAME or CIDR'],
  ["A:.spec.uses[x]", 'got "[x]" in path ".spec.uses[x]", want .key, [N] or [*]'],
  ["A:.spec..cidr", 'got "..cidr" in path ".spec..cidr", want .key, [N] or [*]'],
  ["A:.spec.", 'got "." in path ".spec.", want .key, [N] or [*]'],
  ["A:.spec['cidr]", `got "['cidr]" in path ".spec['cidr]", want .key, [N] or [*]`],
])("%j is refused", (spec, fault) => {
  expect(() => parseCustomColumns(spec, KNOWN)).toThrow(new UsageError(`read custom-columns: ${fault}`));
});
