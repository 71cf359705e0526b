/** For tests: a name server that knows SRV records, by UDP on 127.0.0.1. */

import type { SrvRecord } from "../../src/datastore/etcd/client/srv.ts";

export interface DnsServer extends Disposable {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** Names that were asked for, in order. */
  readonly questions: readonly string[];
}

const SRV = 33;
const IN = 1;
const NAME_OF_QUESTION = 0xc00c;

/** @param zone records by name; a name that is absent does not exist; undefined: no answer at all */
export async function startDnsServer(zone: Readonly<Record<string, readonly SrvRecord[] | undefined>>): Promise<DnsServer> {
  const questions: string[] = [];
  const socket = await Bun.udpSocket({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(self, request, port, address) {
        const { name, end } = readName(request, 12);
        questions.push(name);
        if (name in zone && zone[name] === undefined) return;
        self.send(answer(request.subarray(0, 2), request.subarray(12, end + 4), zone[name]), port, address);
      },
    },
  });
  return { address: `127.0.0.1:${socket.port}`, questions, [Symbol.dispose]: () => socket.close() };
}

/** @see RFC 1035, section 4.1 */
function answer(id: Buffer, question: Buffer, records: readonly SrvRecord[] | undefined): Buffer {
  const flags = records === undefined ? 0x8183 : 0x8180; // no such name, or no error
  const header = [flags, 1, records?.length ?? 0, 0, 0].map(toUint16);
  return Buffer.concat([id, ...header, question, ...(records ?? []).map(encodeRecord)]);
}

/** @see RFC 2782 */
function encodeRecord({ priority, weight, port, name }: SrvRecord): Buffer {
  const data = Buffer.concat([priority, weight, port].map(toUint16).concat(writeName(name)));
  return Buffer.concat([...[NAME_OF_QUESTION, SRV, IN, 0, 60, data.length].map(toUint16), data]);
}

function toUint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

function writeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}
