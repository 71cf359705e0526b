/** The conformance suite on etcd, by each way to speak to it. */

import { connectTcp } from "../../src/linux/tcp.ts";
import type { DatastorePorts } from "../../src/datastore/open.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { describeDatastore } from "./conformance.ts";
import type { Subject } from "./conformance/subject.ts";
import { openEtcd } from "./open-etcd.ts";

const start =
  (ports: Partial<DatastorePorts>, args: readonly string[] = []) =>
  async (): Promise<Subject> => {
    const server = await startEtcd({ quick: true, args });
    const datastore = openEtcd({ endpoints: [server.endpoint] }, ports);
    return {
      datastore,
      isPlain: true,
      server,
      async wipe() {
        await server.ctl(["del", "--prefix", "/netplug/"]);
      },
      async end() {
        datastore.close();
        await server[Symbol.asyncDispose]();
      },
    };
  };

describeDatastore("on etcd", start({}));
describeDatastore("on etcd, over sockets of our own", start({ connect: connectTcp }));
describeDatastore("on etcd, by gRPC", start({}, ["--enable-grpc-gateway=false"]));
