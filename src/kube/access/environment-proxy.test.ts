/** Which variable names the proxy; test/kube/tls.test.ts has it asked. */

import { expect, test } from "bun:test";
import { proxyOfEnvironment, type Variables } from "./environment-proxy.ts";

const [ONE, OTHER] = ["http://one.example:3128", "http://other.example:3128"];

test.each([
  ["https://api:6443", { HTTPS_PROXY: ONE }, "HTTPS_PROXY", ONE],
  ["https://api:6443", { https_proxy: ONE }, "https_proxy", ONE],
  ["https://api:6443", { https_proxy: ONE, HTTPS_PROXY: OTHER }, "HTTPS_PROXY", OTHER],
  ["https://api:6443", { https_proxy: ONE, HTTPS_PROXY: "" }, "https_proxy", ONE],
  ["http://api:8080", { HTTP_PROXY: ONE, HTTPS_PROXY: OTHER }, "HTTP_PROXY", ONE],
  ["https://192.0.2.1:6443", { HTTPS_PROXY: "one.example:3128" }, "HTTPS_PROXY", ONE],
  ["https://128.0.0.1:6443", { HTTPS_PROXY: ONE }, "HTTPS_PROXY", ONE],
  ["https://127.0.0.1.example:6443", { HTTPS_PROXY: ONE }, "HTTPS_PROXY", ONE],
  ["https://[fd00::1]:6443", { HTTPS_PROXY: ONE }, "HTTPS_PROXY", ONE],
] as const)("%s with %j: that of %s", (server, env: Variables, variable, url) => {
  expect(proxyOfEnvironment(server, env)).toEqual({ variable, url });
});

test.each([
  ["https://api:6443", { HTTP_PROXY: ONE, ALL_PROXY: ONE, all_proxy: ONE }],
  ["http://api:8080", { HTTPS_PROXY: ONE }],
  ["https://localhost:6443", { HTTPS_PROXY: ONE }],
  ["https://LOCALHOST:6443", { HTTPS_PROXY: ONE }],
  ["https://127.0.0.1:6443", { HTTPS_PROXY: ONE }],
  ["https://127.9.9.9", { HTTPS_PROXY: ONE }],
  ["https://[::1]:6443", { HTTPS_PROXY: ONE }],
  ["https://[::ffff:127.0.0.1]:6443", { HTTPS_PROXY: ONE }],
] as const)("%s with %j: none", (server, env: Variables) => {
  expect(proxyOfEnvironment(server, env)).toBeUndefined();
});
