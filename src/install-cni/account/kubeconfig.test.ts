import { expect, test } from "bun:test";
import { memoryFiles } from "../../../test/support/memory-files.ts";
import { toKubeconfigAccess } from "../../kube/access/kubeconfig-access.ts";
import { readKubeconfig } from "../../kube/access/kubeconfig.ts";
import type { ServerAccess } from "./kubeconfig.ts";
import { toKubeconfig } from "./kubeconfig.ts";

const PLAIN: ServerAccess = {
  server: "https://api.example",
  ca: undefined,
  skipsTlsVerify: false,
  tlsServerName: undefined,
  proxyUrl: undefined,
};
const CA = "-----BEGIN CERTIFICATE-----\n";

test.each<[access: Partial<ServerAccess>, caText: string | undefined]>([
  [{}, undefined],
  [{ ca: CA }, CA],
  [{ ca: CA, tlsServerName: "api.internal", proxyUrl: "http://proxy.example:3128" }, CA],
  // Both together are refused by whoever reads them.
  [{ ca: CA, skipsTlsVerify: true }, undefined],
])("the plugin reaches the API server as the installer does: %j", async (more, caText) => {
  const access = { ...PLAIN, ...more };
  const files = memoryFiles({ "/k": toKubeconfig(access, "netplug-cni", "secret") });
  expect(toKubeconfigAccess(await readKubeconfig("/k", files), {})).toMatchObject({
    ...access,
    ca: caText === undefined ? undefined : { text: caText },
    user: { token: "secret" },
  });
});
