/** The project's own client, of the same release as the server: what tests believe. */

import { clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";

/** Runs it with nothing but this kubeconfig; its cache lies in `folder`. @throws Error with what it said when it fails */
export async function runKubectl(
  place: { readonly kubeconfigFile: string; readonly folder: string },
  args: readonly string[],
  stdin = "",
): Promise<string> {
  const child = Bun.spawn([clusterProgram("kubectl"), ...args], {
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
    env: { PATH: process.env["PATH"] ?? "", HOME: place.folder, KUBECONFIG: place.kubeconfigFile },
  });
  const [status, stdout, stderr] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
  if (status !== 0) throw new Error(`kubectl ${args.join(" ")}: status ${status}: ${stderr}${stdout}`);
  return stdout;
}
