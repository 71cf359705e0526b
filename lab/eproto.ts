import net from "node:net"; import tls from "node:tls"; import { readFileSync } from "node:fs";
const D = "/tmp/p-kube-lab/";
const opt = { cert: readFileSync(D + "c/srv.crt"), key: readFileSync(D + "c/srv.key") };
const ca = readFileSync(D + "c/ca.crt", "utf8");
const listen = (s: any) => new Promise<number>((r) => s.listen(0, "127.0.0.1", () => r(s.address().port)));
const show = (l: string, e: any) => console.log(l.padEnd(36), e.code, "|", e.message, "|", e.name, JSON.stringify(Object.getOwnPropertyNames(e)), e.errno, e.path);
// 1: ALPN refusal
for (const [l, o] of [["alpn http1 only", { ALPNProtocols: ["http/1.1"] }], ["client cert wanted", { requestCert: true, rejectUnauthorized: true, ca }], ["tls1.2 only + cert", { requestCert: true, rejectUnauthorized: true, ca, maxVersion: "TLSv1.2" }], ["ciphers", { maxVersion: "TLSv1.1", minVersion: "TLSv1" }]] as any) {
  const s = tls.createServer({ ...opt, ...o }, (c) => { c.on("error", () => 0); c.on("data", () => c.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")); }); s.on("tlsClientError", () => 0); const p = await listen(s);
  for (const protocol of ["http1.1", "http2"]) try { await fetch(`https://127.0.0.1:${p}/`, { tls: { ca }, protocol } as any); console.log(l, protocol, "ok"); } catch (e) { show(`${l} ${protocol}`, e); }
  s.close();
}
const plain = net.createServer((c) => { c.on("error", () => 0); c.on("data", () => c.end("HTTP/1.1 400 Bad Request\r\n\r\nplain")); }); const pp = await listen(plain);
for (const protocol of ["http1.1", "http2"]) try { await fetch(`https://127.0.0.1:${pp}/`, { tls: { ca }, protocol } as any); } catch (e) { show(`plain http server ${protocol}`, e); }
// mid-connection
for (const h2 of [false, true]) for (const mode of ["flip", "fliphead", "garbage", "hs-flip", "hs-garbage"]) {
  let armed = mode.startsWith("hs") ? mode.slice(3) : "";
  const up = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: { cert: opt.cert, key: opt.key }, http2: true, fetch: () => new Response("ok") } as any);
  const px = net.createServer((c) => { const u = net.connect(up.port!, "127.0.0.1"); c.on("error", () => u.destroy()); u.on("error", () => 0); c.on("close", () => u.destroy()); c.on("data", (d) => u.write(d)); u.on("data", (d) => { const a = armed; armed = ""; if (a === "flip") { d[d.length - 3]! ^= 64; } if (a === "fliphead") d[0]! ^= 64; if (a === "garbage") { c.end("HTTP/1.1 502 Bad\r\n\r\n"); return; } c.write(d); }); });
  const p = await listen(px); const s = new Bun.FetchSession({ tls: { ca } } as any); const o: any = { session: s, ...(h2 && { protocol: "http2" }) };
  try { if (!mode.startsWith("hs")) { await (await fetch(`https://127.0.0.1:${p}/`, o)).text(); armed = mode; await Bun.sleep(20); } await (await fetch(`https://127.0.0.1:${p}/`, { ...o, method: "POST", body: "x" })).text(); console.log(mode, h2, "OK?"); } catch (e) { show(`${mode} h2=${h2}`, e); }
  px.close(); up.stop(true);
}
process.exit(0);
