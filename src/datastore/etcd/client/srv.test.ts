import { describe, expect, test } from "bun:test";
import { seededRandom } from "../../../../test/support/seeded-random.ts";
import type { SrvRecord } from "./srv.ts";
import { discover } from "./srv.ts";

const TLS_NAME = "_etcd-client-ssl._tcp.d";

/** Discovers among records of the TLS name. */
async function order(records: readonly SrvRecord[], random = seededRandom(1)): Promise<readonly string[]> {
  const resolveSrv = async (name: string): Promise<readonly SrvRecord[]> => (name === TLS_NAME ? records : []);
  return await discover("d", { random, resolveSrv, signal: new AbortController().signal });
}

describe("discover()", () => {
  test("begins with the smallest priority, and takes no final dot into the name", async () => {
    const records = [3, 1, 2].map((priority) => ({ name: `m${priority}.d.`, port: 2379, priority, weight: 0 }));
    expect(await order(records)).toEqual(["https://m1.d:2379", "https://m2.d:2379", "https://m3.d:2379"]);
  });

  test("begins more often with more weight, and now and then with none", async () => {
    const random = seededRandom(7);
    const records = [0, 10, 30].map((weight) => ({ name: `w${weight}`, port: 1, priority: 0, weight }));
    const firsts = { w0: 0, w10: 0, w30: 0 };
    for (let i = 0; i < 2_000; i++) {
      const [first = ""] = await order(records, random);
      firsts[first.slice("https://".length, -":1".length) as keyof typeof firsts]++;
    }
    expect(firsts.w30 / firsts.w10).toBeWithin(2.4, 3.7);
    expect(firsts.w0).toBeLessThan(20);
  });

  test("uses endpoints without TLS where there are none with it, but not for those who have certificates", async () => {
    const names: string[] = [];
    const resolveSrv = async (name: string): Promise<readonly SrvRecord[]> => {
      names.push(name);
      if (name === TLS_NAME) throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
      return [{ name: "m", port: 2379, priority: 0, weight: 0 }];
    };
    const options = { random: seededRandom(1), resolveSrv, signal: new AbortController().signal };
    expect(await discover("d", options)).toEqual(["http://m:2379"]);
    names.length = 0;
    await expect(discover("d", { ...options, wantsTls: true })).rejects.toThrow(
      'discover etcd by "d": _etcd-client-ssl._tcp.d: ENOTFOUND; certificates are configured, so only endpoints with TLS will do',
    );
    expect(names).toEqual([TLS_NAME]);
  });

  test("takes a record without a target for what it says: not available", async () => {
    const none = { name: ".", port: 0, priority: 0, weight: 0 };
    expect(await order([none, { ...none, name: "m", port: 1 }])).toEqual(["https://m:1"]);
    await expect(order([none])).rejects.toThrow("no records");
  });
});
