/** What is read from ginkgo's report: nothing that went wrong is taken for something that passed. */

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { keep, outcomesOf, SPECS } from "./run-specs.ts";

const spec = (LeafNodeText: string, State: string, more: object = {}): object => ({
  ContainerHierarchyTexts: ["[sig-network] Services"],
  LeafNodeType: "It",
  LeafNodeText,
  State,
  NumAttempts: 1,
  ...more,
});
const failure = (Message: string): object => ({ Failure: { Message, Location: { FileName: "service.go", LineNumber: 7 } } });

test("specs that failed, skipped themselves or were interrupted say so, with the reason and the log; those not chosen are not there", () => {
  const SpecReports = [
    spec("work", "passed"),
    spec("fail", "failed", failure("refused")),
    spec("skip", "skipped", failure("needs 3 nodes")),
    spec("hang", "interrupted"),
    spec("rest", "skipped", { NumAttempts: 0 }),
  ];
  expect(Object.fromEntries(outcomesOf(JSON.stringify([{ SpecReports }]), "/log"))).toEqual({
    "[sig-network] Services work": "passed",
    "[sig-network] Services fail": "failed: refused (service.go:7); log: /log",
    "[sig-network] Services skip": "skipped: needs 3 nodes (service.go:7); log: /log",
    "[sig-network] Services hang": "interrupted; log: /log",
  });
});

test("what is done for all specs is there only if it failed", () => {
  const prepared = { ContainerHierarchyTexts: null, LeafNodeText: "", NumAttempts: 0 };
  const passed = { ...prepared, LeafNodeType: "SynchronizedAfterSuite", State: "passed" };
  const failed = { ...prepared, LeafNodeType: "SynchronizedBeforeSuite", State: "failed", ...failure("no node") };
  const outcomes = outcomesOf(JSON.stringify([{ SpecReports: [passed, failed] }]), "/log");
  expect([...outcomes]).toEqual([["SynchronizedBeforeSuite", "failed: no node (service.go:7); log: /log"]]);
});

test("of an earlier run nothing is kept beside the last one's, which may have written no report", () => {
  const folder = mkdtempSync(join(tmpdir(), "npgt-specs-"));
  try {
    const [log, report, kept] = [join(folder, "ginkgo.log"), join(folder, "report.json"), join(folder, "cache", "kept")];
    for (const file of [log, report]) writeFileSync(file, "");
    keep([log, report], kept);
    expect(readdirSync(kept).toSorted()).toEqual(["ginkgo.log", "report.json"]);
    rmSync(report);
    keep([log, report], kept);
    expect(readdirSync(kept)).toEqual(["ginkgo.log"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"])("%s says how many specs there are", (file) => {
  const said = /\b(\d+) of (?:Kubernetes'|its) own/.exec(readFileSync(join(repositoryRoot, file), "utf8"))?.[1];
  expect(said).toBe(`${SPECS.length}`);
});
