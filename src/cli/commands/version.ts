/** `version`: of this program, of the cluster, and of the Kubernetes that it lives in. */

import type { ClusterInformationSpec } from "../../api/cluster-information.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import { VERSION } from "../../lib/version.ts";
import { datastoreConfigOf, withDatastore, withKube } from "../access/access.ts";
import { EXIT } from "../failures/failure.ts";
import { toCommandLine, UNLOCK } from "../failures/suggested-commands.ts";
import { type Cli, note, say } from "../io.ts";
import { toReportText } from "../output/json-yaml.ts";
import type { ReportFormat } from "../output/format.ts";
import { noteNeverInitialised } from "../resources/never-initialised.ts";
import { whyTooOld } from "../resources/write-guards.ts";

/** Without any, the cluster is asked as well, and people get text. */
export interface VersionFlags {
  /** Only the program's own, without asking the datastore. */
  readonly client?: boolean;
  readonly output?: ReportFormat;
}

/** The program's version is printed also when the cluster cannot be asked. */
export async function version(cli: Cli, flags: VersionFlags): Promise<number> {
  const isText = flags.output === undefined;
  if (isText) say(cli, `Client Version:   ${VERSION}`);
  const kubernetes = flags.client === true ? undefined : await readKubernetes(cli);
  if (isText && kubernetes !== undefined) say(cli, `Kubernetes:       ${kubernetes}`);
  const information = flags.client === true ? undefined : await readInformation(cli);
  if (flags.output !== undefined) cli.io.stdout.write(toReportText(flags.output, toReport(kubernetes, information)));
  else if (flags.client !== true) sayCluster(cli, information);
  return EXIT.done;
}

function toReport(kubernetes: string | undefined, information: ClusterInformationSpec | undefined): object {
  return {
    clientVersion: VERSION,
    ...(kubernetes !== undefined && { kubernetesVersion: kubernetes }),
    ...(information !== undefined && {
      clusterVersion: information.netplugVersion,
      clusterGUID: information.clusterGUID,
      clusterType: information.clusterType,
      datastoreReady: information.datastoreReady === true,
    }),
  };
}

function sayCluster(cli: Cli, information: ClusterInformationSpec | undefined): void {
  if (information === undefined) {
    say(cli, "Cluster Version:  unknown");
    noteNeverInitialised(cli);
    return;
  }
  const isReady = information.datastoreReady === true;
  say(cli, `Cluster Version:  ${information.netplugVersion ?? "unknown"}`);
  say(cli, `Cluster Type:     ${information.clusterType ?? "unknown"}`);
  say(cli, `Cluster GUID:     ${information.clusterGUID ?? "unknown"}`);
  say(cli, `Datastore Ready:  ${isReady}${information.datastoreFrozen === true ? " (frozen by a migration)" : ""}`);
  const fault = whyTooOld(information);
  if (fault !== undefined) note(cli, `warning: ${fault}`);
  if (!isReady) note(cli, `the datastore is locked; when that is over:\nnext: ${toCommandLine(cli, UNLOCK)}`);
}

/** @returns undefined when the datastore is not the Kubernetes API */
async function readKubernetes(cli: Cli): Promise<string | undefined> {
  const config = await datastoreConfigOf(cli);
  if (config.type !== "kubernetes") return undefined;
  const { readServerVersion } = await import("../kubernetes/server-version.ts");
  return withKube(cli, config.kubernetes, async (client) => (await readServerVersion(client)) ?? "unknown");
}

async function readInformation(cli: Cli): Promise<ClusterInformationSpec | undefined> {
  const [stored] = await withDatastore(cli, (datastore) => datastore.read([CLUSTER_INFORMATION]));
  return stored?.value.spec;
}
