/** The CRD of what a cluster is. */

import type { ClusterInformationSpec } from "../../cluster-information.ts";
import { AGE, specColumn } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";
import { onlyNamed } from "../name-rules.ts";

/** Its rules let an API server hold that there is only `default`, and that it keeps its guid. */
export const CLUSTER_INFORMATION_DEFINITION: KindDefinition<ClusterInformationSpec> = {
  text: "What the cluster is, and whether its datastore may be used: one object, named default, made by netplugctl init.",
  specText: "What the cluster is.",
  fields: {
    guid: "The identity of the cluster: 32 hexadecimal digits, made when the datastore is initialised and never changed.",
    type: "What the cluster consists of, such as k8s.",
    version: "The newest netplug version that initialised or upgraded the datastore.",
    datastoreReady:
      "Whether the datastore may be used. Absent or false locks it: no new pod gets a network, but pods can still be deleted.",
    datastoreFrozen: "Whether nothing at all may be written; set by a migration.",
  },
  samples: [{}],
  rules: {
    "": [onlyNamed("ClusterInformation")],
    spec: [
      {
        rule: "!has(oldSelf.guid) || (has(self.guid) && self.guid == oldSelf.guid)",
        message: "guid cannot be changed or removed",
        fieldPath: ".guid",
      },
    ],
  },
  columns: [
    specColumn("Version", "version", "string", "The newest netplug version that the cluster has seen."),
    specColumn("Ready", "datastoreReady", "boolean", "Whether the datastore may be used."),
    specColumn("Frozen", "datastoreFrozen", "boolean", "Whether nothing may be written.", "wide"),
    specColumn("GUID", "guid", "string", "The identity of the cluster.", "wide"),
    AGE,
  ],
};
