import { startApiServer } from "../test/cluster/api-server.ts";
import { openClient, CONFIG_MAPS } from "../test/kube/support/real-api.ts";
import { TcpProxy } from "../test/support/tcp-proxy.ts";
const api = await startApiServer({ args: ["--goaway-chance=0.02"] });
const client = openClient(api, { protocol: "http2" });
const fails = new Map<string, number>();
const note = (e: any) => { const k = `${e.reason} ${e.isOutcomeUnknown} ${e.message.replace(/"[^"]*"/g, "X")} <- ${e.cause?.code}`; fails.set(k, (fails.get(k) ?? 0) + 1); };
const worker = async (n: number) => {
  const ref = { namespace: "default", name: `w${n}` };
  let cur = await client.create(CONFIG_MAPS, { metadata: ref, data: { n: "0" } });
  let unknown = 0, conflicts = 0;
  for (let i = 1; i <= 250; i++) {
    try {
      if (i % 3 === 0) { const got = await client.get(CONFIG_MAPS, ref); if (Number(got!.data!.n) !== Number(cur.data!.n)) console.log("MISMATCH", got!.data, cur.data); }
      cur = await client.update(CONFIG_MAPS, { ...cur, data: { n: String(Number(cur.data!.n) + 1) } });
    } catch (e: any) { note(e); if (e.isOutcomeUnknown) unknown++; if (e.reason === "conflict") conflicts++; cur = (await client.get(CONFIG_MAPS, ref))!; }
  }
  return { n: cur.data!.n, unknown, conflicts };
};
const t = performance.now();
console.log(JSON.stringify(await Promise.all(Array.from({ length: 8 }, (_, i) => worker(i)))));
console.log("requests", client.requester.counts, Math.round(performance.now() - t), "ms"); for (const [k, n] of fails) console.log(n, k);
await api.stop(); process.exit(0);
