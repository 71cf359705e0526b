/** Certificates and keys for etcd that a shell's `<(command)` gives, which only the built program shows. */

import { afterAll, expect, test } from "bun:test";
import { netplugctl } from "../support/cli/netplugctl.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";
import { type EtcdServer, startEtcd } from "../support/servers/etcd.ts";
import { share } from "../support/share.ts";

const certificates = createCertificateFolder();
const ca = certificates.createAuthority("ca");
const client = ca.issueClient("netplug");
/** Wants a certificate from its clients. */
const server: EtcdServer = share(() => startEtcd({ quick: true, tls: { ...ca.issueServer("server"), clientCaFile: ca.certFile } }));
afterAll(() => certificates[Symbol.dispose]());

/** Each file comes by a pipe of its own, whose command takes its time. */
function runWithPipes(endpoint: string, command: string): readonly [status: number, stdout: string, stderr: string] {
  const pipes = { ETCD_CA_CERT_FILE: ca.certFile, ETCD_CERT_FILE: client.certFile, ETCD_KEY_FILE: client.keyFile };
  const settings = Object.entries(pipes).map(([name, file]) => `${name}=<(sleep 0.2; cat ${file})`);
  const line = `ETCD_ENDPOINTS=${endpoint} ${settings.join(" ")} ${netplugctl} ${command}`;
  const { exitCode, stdout, stderr } = Bun.spawnSync(["bash", "-c", line], { env: { PATH: process.env["PATH"] } });
  return [exitCode, stdout.toString(), stderr.toString()];
}

test("are waited for, and known for as long as the command runs", () => {
  expect(runWithPipes(server.endpoint, "init")).toEqual([0, expect.stringContaining("datastore initialised"), ""]);
  expect(runWithPipes(server.endpoint, "get tiers -o name")).toEqual([0, expect.stringContaining("tier/default\n"), ""]);
});

test("do not hide that nobody listens", () => {
  const [status, stdout, stderr] = runWithPipes("https://127.0.0.1:1", "get tiers");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("connection refused");
  expect(stderr).toContain("curl -sS -m 5 --cacert FILE --cert FILE --key FILE https://127.0.0.1:1/health");
});
