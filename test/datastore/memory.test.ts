/** The conformance suite on the datastore in memory, which tests of other folders take for any datastore. */

import { MemoryDatastore } from "../../src/datastore/memory/memory-datastore.ts";
import { describeDatastore } from "./conformance.ts";

describeDatastore("in memory", async () => {
  const datastore = new MemoryDatastore();
  return {
    datastore,
    isPlain: true,
    async wipe() {
      datastore.clear();
    },
    async end() {
      datastore.close();
    },
  };
});
