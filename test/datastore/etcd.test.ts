import { startEtcd } from "../support/etcd.ts";
import { describeDatastore } from "./conformance.ts";
import { openEtcd } from "./open-etcd.ts";

describeDatastore("on etcd", async () => {
  const server = await startEtcd();
  const datastore = openEtcd({ endpoints: [server.endpoint] });
  return {
    datastore,
    async wipe() {
      await server.ctl(["del", "--prefix", "/netplug/"]);
    },
    async end() {
      datastore.close();
      await server[Symbol.asyncDispose]();
    },
  };
});
