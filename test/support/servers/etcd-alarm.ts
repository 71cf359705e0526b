/** For tests: raises an alarm of etcd, which `etcdctl` can only list and disarm. */

import { Connection } from "../../../src/datastore/etcd/wire/grpc/connection.ts";
import { MessageWriter } from "../../../src/datastore/etcd/wire/grpc/protobuf.ts";

const NUMBERS = { NOSPACE: 1, CORRUPT: 2 } as const;

export type Alarm = keyof typeof NUMBERS;

export const ALARMS = Object.keys(NUMBERS) as readonly Alarm[];

/** As a member does when it is full, or finds that its data differs from that of the others. */
export async function raiseAlarm(endpoint: string, alarm: Alarm): Promise<void> {
  const connection = new Connection();
  const activate = new MessageWriter().number(1, 1).number(3, NUMBERS[alarm]).finish();
  await connection.unary("/etcdserverpb.Maintenance/Alarm", activate, { endpoint, signal: AbortSignal.timeout(10_000) });
  connection.close();
}
