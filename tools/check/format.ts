/** The formatter: Bun's own, with the line length of bunfig.toml. */

import { repositoryRoot } from "../repository.ts";
import type { Problem } from "./problem.ts";

const FORMATTED = ["src/**/*.ts", "test/**/*.ts", "tools/**/*.{ts,mjs}"] as const;

function filesToFormat(): string[] {
  return FORMATTED.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: repositoryRoot })]).sort();
}

function format(options: readonly string[], files: readonly string[]): { readonly status: number; readonly output: string } {
  const result = Bun.spawnSync([process.execPath, "fmt", "--no-script", ...options, ...files], {
    cwd: repositoryRoot,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return { status: result.exitCode, output: `${result.stdout.toString()}${result.stderr.toString()}`.trim() };
}

/** Names the files that the formatter would change. */
export function checkFormat(): Problem[] {
  const { status, output } = format(["--check"], filesToFormat());
  if (status === 0) return [];
  const files = output.split("\n").filter((line) => /\.(?:ts|mjs)$/.test(line));
  return files.length === 0
    ? [`bun fmt --check ended with status ${status}: ${output}`]
    : files.map((file) => `${file}: not formatted: npm run fmt`);
}

/** The task `npm run fmt`. */
export async function runFormat(args: readonly string[]): Promise<number> {
  const { status, output } = format([], args.length > 0 ? args : filesToFormat());
  console.error(output);
  return status;
}
