/** The CRD of what a cluster is. */

import type { ClusterInformationSpec } from "../../cluster-information.ts";
import { AGE, specColumn } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";
import { onlyNamed } from "../name-rules.ts";

/** Its rules let an API server hold that there is only `default`, and that it keeps its GUID. */
export const CLUSTER_INFORMATION_DEFINITION: KindDefinition<ClusterInformationSpec> = {
  text: "What the cluster is, and whether its datastore may be used: one object, named default, made by netplugctl init.",
  specText: "What the cluster is.",
  fields: {
    clusterGUID: "The identity of the cluster: 32 hexadecimal digits, made when the datastore is initialised and never changed.",
    clusterType: "What the cluster consists of, such as k8s.",
    netplugVersion: "The newest netplug version that initialised or upgraded the datastore.",
    datastoreReady:
      "Whether the datastore may be used. Absent or false locks it: no new pod gets a network, but pods can still be deleted.",
    datastoreFrozen: "Whether nothing at all may be written; set by a migration.",
  },
  samples: [{}],
  rules: {
    "": [onlyNamed("ClusterInformation")],
    spec: [
      {
        rule: "!has(oldSelf.clusterGUID) || (has(self.clusterGUID) && self.clusterGUID == oldSelf.clusterGUID)",
        message: "clusterGUID cannot be changed or removed",
        fieldPath: ".clusterGUID",
      },
    ],
  },
  columns: [
    specColumn("Version", "netplugVersion", "string", "The newest netplug version that the cluster has seen."),
    specColumn("Ready", "datastoreReady", "boolean", "Whether the datastore may be used."),
    specColumn("Frozen", "datastoreFrozen", "boolean", "Whether nothing may be written.", "wide"),
    specColumn("GUID", "clusterGUID", "string", "The identity of the cluster.", "wide"),
    AGE,
  ],
};
