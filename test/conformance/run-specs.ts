/** Runs some of Kubernetes' own tests, which it calls specs, and reads what came of them. */

import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";
import { cacheFolder } from "../../tools/repository.ts";
import type { Cluster } from "../cluster/support/cluster.ts";

/** Specs mostly wait for pods; so many keep two processors busy. */
const PROCESSES = 10;
/** A run that hangs ends then, with a report. */
const TIME_LIMIT = "20m";

/** Whole names of the specs that netplug has to pass. */
export const SPECS: readonly string[] = readFileSync(join(import.meta.dir, "specs.txt"), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));

/** As ginkgo writes it; more fields are there. */
interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  /** `It` for a spec, otherwise something that is done for all of them. */
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** 0 for a spec that was not chosen. */
  readonly NumAttempts: number;
  readonly Failure?: { readonly Message: string; readonly Location: { readonly FileName: string; readonly LineNumber: number } };
}

/** Where log and report of the last run are: the cluster's folder ends with it. */
export function keptFolder(): string {
  return join(cacheFolder(), "conformance");
}

/**
 * Runs the specs of these names, several at once, once each.
 *
 * @param folder does not exist
 * @returns for each that ran `passed`, or what went wrong and where the log is; also for preparations that failed
 */
export async function runSpecs(cluster: Cluster, names: readonly string[], folder: string): Promise<ReadonlyMap<string, string>> {
  mkdirSync(folder);
  const [log, report] = [join(folder, "ginkgo.log"), join(folder, "report.json")];
  // of a program that is built already ginkgo wants this ending
  symlinkSync(clusterProgram("conformance"), join(folder, "conformance.test"));
  const output = openSync(log, "w");
  const child = Bun.spawn([...ALL_END_WITH_US, ...ginkgo(names, report), "conformance.test", "--", ...suite(cluster)], {
    cwd: folder,
    env: { ...process.env, HOME: folder, TMPDIR: folder },
    stdin: "ignore",
    stdout: output,
    stderr: output,
  });
  closeSync(output);
  const status = await child.exited;
  keep([log, report], keptFolder());
  const outcomes = existsSync(report) ? outcomesOf(readFileSync(report, "utf8"), keptFolder()) : new Map<string, string>();
  if (status !== 0 && [...outcomes.values()].every((outcome) => outcome === "passed"))
    throw new Error(`run specs: ginkgo ended with status ${status} although no spec failed; its last words:\n${lastLines(log)}`);
  return outcomes;
}

/** Ginkgo and its processes are alone in a namespace that ends with this process; an interrupt at the terminal does not reach them before. */
const ALL_END_WITH_US = ["setsid", "setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child"];

function ginkgo(names: readonly string[], report: string): readonly string[] {
  const focus = `(?:${names.map((name) => name.replace(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`)).join("|")})$`;
  const flags = [`--procs=${PROCESSES}`, `--timeout=${TIME_LIMIT}`, "--no-color", `--json-report=${report}`, `--focus=${focus}`];
  return [clusterProgram("ginkgo"), "run", ...flags];
}

function suite(cluster: Cluster): readonly string[] {
  return [
    "--provider=skeleton",
    `--kubeconfig=${cluster.api.kubeconfigFile}`,
    `--kubectl-path=${clusterProgram("kubectl")}`,
    `--num-nodes=${cluster.nodes.length}`,
    "--disable-log-dump=true",
  ];
}

/** Nothing else is there then: what an earlier run left is not taken for this one's. */
export function keep(files: readonly string[], folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of files) if (existsSync(file)) copyFileSync(file, join(folder, basename(file)));
}

function lastLines(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-20).join("\n");
}

/** @param json ginkgo's report @param log where a failure can be looked at */
export function outcomesOf(json: string, log: string): ReadonlyMap<string, string> {
  const reports = (JSON.parse(json) as readonly { readonly SpecReports: readonly SpecReport[] }[]).flatMap((suite) => suite.SpecReports);
  const ran = reports.filter(({ LeafNodeType, NumAttempts, State }) => (LeafNodeType === "It" ? NumAttempts > 0 : State !== "passed"));
  return new Map(ran.map((spec) => [nameOf(spec), outcomeOf(spec, log)]));
}

function nameOf({ LeafNodeType, ContainerHierarchyTexts, LeafNodeText }: SpecReport): string {
  return LeafNodeType === "It" ? [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(" ") : LeafNodeType;
}

function outcomeOf({ State, Failure }: SpecReport, log: string): string {
  if (State === "passed") return State;
  const where = Failure === undefined ? "" : `: ${Failure.Message} (${Failure.Location.FileName}:${Failure.Location.LineNumber})`;
  return `${State}${where}; log: ${log}`;
}
