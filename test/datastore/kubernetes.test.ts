import { test } from "bun:test";
import { canStartApiServer } from "../cluster/api-server.ts";
import { describeDatastore } from "./conformance.ts";
import { openKubernetes, startWithCrds, wipe } from "./open-kubernetes.ts";

if (canStartApiServer()) {
  describeDatastore("on Kubernetes", async () => {
    const server = await startWithCrds();
    const datastore = openKubernetes(server);
    return {
      datastore,
      isPlain: false,
      wipe: () => wipe(server),
      async end() {
        datastore.close();
        await server.stop();
      },
    };
  });
} else {
  test.skip("what every datastore does, on Kubernetes (needs cluster)", () => undefined);
}
