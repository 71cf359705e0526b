import net from "node:net";
import { startApiServer } from "../test/cluster/api-server.ts";
import { CONFIG_MAPS, realPorts } from "../test/kube/support/real-api.ts";
import { KubeClient } from "../src/kube/client.ts";
import { readFileSync, writeFileSync } from "node:fs";
const api = await startApiServer();
let action = "pass"; let acts = new Map<string, number>();
const proxy = net.createServer((c) => {
  const u = net.connect(api.port, "127.0.0.1"); c.on("error", () => u.destroy()); u.on("error", () => c.destroy()); c.on("close", () => u.destroy()); u.on("close", () => c.destroy());
  c.on("data", (d) => { const a = action;
    if (a === "rst-before") { action = "pass"; c.resetAndDestroy(); u.resetAndDestroy(); return; }
    if (a === "fin-before") { action = "pass"; c.end(); u.destroy(); return; }
    if (a === "half") { action = "pass"; u.write(d.subarray(0, d.length >> 1)); setTimeout(() => { c.resetAndDestroy(); u.destroy(); }, 5); return; }
    if (a === "after-rst") { action = "pass"; u.write(d); c.pause(); u.removeAllListeners("data"); setTimeout(() => { c.resetAndDestroy(); u.destroy(); }, 30); return; }
    if (a === "after-fin") { action = "pass"; u.write(d); u.removeAllListeners("data"); setTimeout(() => { c.end(); u.destroy(); }, 30); return; }
    u.write(d); });
  u.on("data", (d) => { const a = action;
    if (a === "flip") { action = "pass"; const e = Buffer.from(d); e[e.length - 3]! ^= 0x40; c.write(e); return; }
    if (a === "fliphead") { action = "pass"; const e = Buffer.from(d); e[0]! ^= 0x40; c.write(e); return; }
    if (a === "garbage") { action = "pass"; c.write("HTTP/1.1 502 Bad\r\n\r\n"); c.end(); return; }
    if (a === "trunc") { action = "pass"; c.write(d.subarray(0, d.length >> 1)); c.end(); u.destroy(); return; }
    if (a === "truncrst") { action = "pass"; c.write(d.subarray(0, d.length >> 1)); setTimeout(() => c.resetAndDestroy(), 3); u.destroy(); return; }
    c.write(d); });
});
await new Promise<void>((r) => proxy.listen(0, "127.0.0.1", () => r()));
const port = (proxy.address() as any).port;
const kc = readFileSync(api.kubeconfigFile, "utf8").replaceAll(`127.0.0.1:${api.port}`, `127.0.0.1:${port}`); writeFileSync(api.folder + "/px", kc);
const direct = new KubeClient({ kubeconfig: api.kubeconfigFile }, realPorts, { qps: 0 });
const seen = new Map<string, number>();
for (const protocol of ["http1.1", "http2"] as const) for (const fresh of [false, true]) for (const mode of ["rst-before", "fin-before", "half", "after-rst", "after-fin", "flip", "fliphead", "garbage", "trunc", "truncrst"]) for (const op of ["update", "patch", "create", "delete", "deluid", "jsonpatch"]) for (let k = 0; k < 2; k++) {
  const ref = { namespace: "default", name: `x-${Math.random().toString(36).slice(2, 10)}` };
  const client = new KubeClient({ kubeconfig: api.folder + "/px" }, realPorts, { qps: 0, protocol });
  let cur: any = { metadata: ref, data: { n: "0" } };
  if (op !== "create") cur = await direct.create(CONFIG_MAPS, cur);
  if (!fresh) { await client.get(CONFIG_MAPS, ref); await client.get(CONFIG_MAPS, ref); }
  action = mode; let out = "ok";
  try {
    if (op === "update") await client.update(CONFIG_MAPS, { ...cur, data: { n: "1" } });
    else if (op === "patch") await client.patch(CONFIG_MAPS, ref, { type: "merge", body: { data: { n: "1" } } });
    else if (op === "jsonpatch") await client.patch(CONFIG_MAPS, ref, { type: "json", operations: [{ op: "test", path: "/metadata/resourceVersion", value: cur.metadata.resourceVersion }, { op: "replace", path: "/data/n", value: "1" }] });
    else if (op === "create") await client.create(CONFIG_MAPS, { metadata: ref, data: { n: "1" } });
    else out = "ok " + (await client.delete(CONFIG_MAPS, ref, op === "deluid" ? { uid: cur.metadata.uid } : {}));
  } catch (e: any) { out = `${e.isOutcomeUnknown ? "UNKNOWN" : "KNOWN"} ${e.reason} ${e.cause?.code ?? ""}`; }
  const unused = action !== "pass"; action = "pass"; client.close();
  await Bun.sleep(unused ? 0 : 20);
  const got = await direct.get(CONFIG_MAPS, ref);
  const done = op.startsWith("del") ? got === undefined : got?.data?.n === "1";
  const bad = (out.startsWith("ok") && !done) || (out === "ok false" ) || (out.startsWith("KNOWN") && done);
  const key = `${bad ? "BAD " : ""}${protocol} ${fresh ? "fresh" : "kept"} ${mode} ${op}: ${out}${unused ? " (unused)" : ""} done=${done}`;
  if (bad || process.env.ALL) seen.set(key, (seen.get(key) ?? 0) + 1);
  const s2 = `all ${out.split(" ").slice(0, 3).join(" ")}`; seen.set(s2, (seen.get(s2) ?? 0) + 1);
}
for (const [k, n] of [...seen].sort()) console.log(n, k);
await api.stop(); process.exit(0);
