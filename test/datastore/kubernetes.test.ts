/** The conformance suite on the Kubernetes API. */

import { test } from "bun:test";
import { canStartApiServer } from "../support/servers/api-server.ts";
import { startWithCrds } from "../crds/definitions.ts";
import { describeDatastore } from "./conformance.ts";
import { openKubernetes, wipe } from "./open-kubernetes.ts";

/** With the hint of what "n1" has, reads go other ways, to the same answers. */
const CASES = ["on Kubernetes", "on Kubernetes, where n1 has a hint of its blocks"] as const;

for (const name of canStartApiServer() ? CASES : []) {
  describeDatastore(name, async () => {
    const server = await startWithCrds();
    const hints = { file: `${server.folder}/blocks.json`, node: "n1" };
    const datastore = openKubernetes(server, name === CASES[0] ? {} : { hints });
    return {
      datastore,
      isPlain: false,
      server: server.server,
      wipe: () => wipe(server),
      async end() {
        datastore.close();
        await server.stop();
      },
    };
  });
}

if (!canStartApiServer()) test.skip("what every datastore does, on Kubernetes (needs cluster)", () => undefined);
