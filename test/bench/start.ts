/** What our own code adds to the start of the runtime: VERSION against a program that does nothing. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pluginPath } from "../support/programs/cni.ts";
import { compileProgram } from "./compile.ts";
import type { BenchRow } from "./row.ts";
import { interleave, round, summarize, toText } from "./summary.ts";

/** Compiles a program that does nothing. */
function buildEmptyProgram(folder: string): string {
  const source = join(folder, "empty.ts");
  const program = join(folder, "empty");
  writeFileSync(source, "export {};\n");
  compileProgram(source, program, folder);
  return program;
}

export async function benchStart(folder: string, rounds: number): Promise<readonly BenchRow[]> {
  const empty = buildEmptyProgram(folder);
  const time = (path: string, env: Record<string, string>) => (): number => {
    const started = performance.now();
    const child = Bun.spawnSync([path], { env, stdin: Buffer.from('{"cniVersion":"1.1.0"}') });
    const ms = performance.now() - started;
    if (!child.success) throw new Error(`${path}: status ${child.exitCode}: ${child.stderr.toString()}`);
    return ms;
  };
  const values = await interleave(
    [
      { name: "version", measure: time(pluginPath("netplug"), { CNI_COMMAND: "VERSION" }) },
      { name: "empty", measure: time(empty, {}) },
      { name: "hostLocal", measure: time(pluginPath("host-local"), { CNI_COMMAND: "VERSION" }) },
    ],
    rounds,
  );
  const [version, base, hostLocal] = [summarize(values.version), summarize(values.empty), summarize(values.hostLocal)];
  const added = round(version.p50 - base.p50);
  return [
    {
      what: "VERSION of the executable over an empty compiled program",
      target: "≤ +1 ms",
      measured: `+${added.toFixed(1)} ms (${toText(version)} against ${toText(base)})`,
      met: added <= 1,
      figures: { version, empty: base, hostLocalVersion: hostLocal, addedMs: added },
    },
  ];
}
