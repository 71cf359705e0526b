import { afterAll, expect, test } from "bun:test";
import { probeHttp } from "./http-probe.ts";

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/to-ready") return new Response(null, { status: 302, headers: { location: "/ready" } });
    if (pathname === "/to-closed") return new Response(null, { status: 307, headers: { location: "/503" } });
    if (pathname === "/loop") return new Response(null, { status: 302, headers: { location: "/loop" } });
    if (pathname === "/hang") return new Promise<Response>(() => {});
    if (pathname === "/endless")
      return new Response(new ReadableStream({ pull: (controller) => void controller.enqueue(new Uint8Array(65536)) }));
    return new Response("body", { status: Number(pathname.slice(1)) || 200 });
  },
});
const base = `http://127.0.0.1:${server.port}`;
const never = new AbortController().signal;

afterAll(() => server.stop(true));

test.each([
  ["/200", 200],
  ["/204", 204],
  ["/300", 300],
  ["/304", 304],
  ["/404", 404],
  ["/503", 503],
  ["/to-ready", 200],
  ["/to-closed", 503],
  ["/endless", 200],
])("GET %s gives status %p", async (path, status) => {
  expect(await probeHttp(base + path, never)).toEqual({ status });
});

test("a request that fails rejects with the code of the failure", () => {
  expect(probeHttp(`${base}/loop`, never)).rejects.toThrow("TooManyRedirects");
  expect(probeHttp("http://127.0.0.1:1/", never)).rejects.toThrow("ECONNREFUSED");
});

test("the signal ends a request that is not answered, with its reason", () => {
  expect(probeHttp(`${base}/hang`, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  const later = new AbortController();
  const pending = probeHttp(`${base}/hang`, later.signal);
  later.abort(new Error("enough"));
  expect(pending).rejects.toThrow("enough");
});

test("a proxy in the environment is not asked, not for a redirect either", async () => {
  const code = `import { probeHttp } from "${import.meta.dir}/http-probe.ts";
    console.log((await probeHttp("${base}/to-ready", new AbortController().signal)).status);`;
  const proxy = "http://127.0.0.1:1";
  const env = { PATH: process.env["PATH"] ?? "", HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy };
  const child = Bun.spawn([process.execPath, "-e", code], { env, stdout: "pipe", stderr: "pipe" });
  expect([await child.stdout.text(), await child.stderr.text()]).toEqual(["200\n", ""]);
});
