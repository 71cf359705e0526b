/** The checks that other programs do: lint, types, dead code. */

import { packageTool, repositoryRoot } from "../repository.ts";
import type { Problem } from "./problem.ts";

function linesOf(command: readonly string[], isProblem: (line: string) => boolean): Problem[] {
  const result = Bun.spawnSync([...command], {
    cwd: repositoryRoot,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1", PATH: `${packageTool("")}:${process.env["PATH"] ?? ""}` },
  });
  if (result.success) return [];
  const lines = `${result.stdout.toString()}${result.stderr.toString()}`.split("\n").filter((line) => line.trim() !== "");
  const problems = lines.filter(isProblem);
  return problems.length > 0 ? problems : [`${command.join(" ")} ended with status ${result.exitCode}`, ...lines.slice(-20)];
}

/** oxlint with the rules of .oxlintrc.json, those that need types among them. */
export function checkLint(): Problem[] {
  return linesOf(
    [process.execPath, packageTool("oxlint"), "--type-aware", "--deny-warnings", "--format=unix", "src", "test", "tools"],
    (line) => /^[^\s:]+:\d+:\d+:/.test(line),
  );
}

/** The TypeScript compiler. */
export function checkTypes(): Problem[] {
  return linesOf([process.execPath, packageTool("tsc"), "--noEmit", "--pretty", "false", "-p", "."], (line) => line.includes("error TS"));
}

/** knip: files, exports, types and dependencies that nothing uses, and entries of knip.json that name nothing. */
export function checkDeadCode(): Problem[] {
  const command = [process.execPath, packageTool("knip"), "--no-progress", "--treat-config-hints-as-errors"];
  return linesOf(command, () => true);
}
