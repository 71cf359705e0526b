/** The project's own client, of the same release as the server: what tests believe. */

import { clusterProgram } from "../../../tools/prerequisites/cluster-programs.ts";
import { mustRunProgram } from "../programs/programs.ts";

/** Runs it with nothing but this kubeconfig; its cache lies in `folder`. @throws Error with what it said when it fails */
export async function runKubectl(
  place: { readonly kubeconfigFile: string; readonly folder: string },
  args: readonly string[],
  stdin = "",
): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: place.folder, KUBECONFIG: place.kubeconfigFile };
  return await mustRunProgram([clusterProgram("kubectl"), ...args], { stdin, env });
}
