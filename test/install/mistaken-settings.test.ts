/** Settings that are allowed, or possible, and not what somebody meant: what a run says of them. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorOf, InstallNode } from "./support/node.ts";

test("endpoints with TLS and none of the certificates are warned of, such as for a Secret with other keys", async () => {
  using node = new InstallNode();
  const warningsOf = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
    const { log } = await node.run({ env });
    return log.filter(({ msg }) => msg.startsWith("there are no certificates")).map(({ level, fields }) => [level, fields]);
  };
  writeFileSync(join(node.assetsDir, "ca.crt"), "a certificate");
  const withTls = { ETCD_ENDPOINTS: "http://a:2379,https://b:2379" };
  const want = "etcd-ca, etcd-cert and etcd-key there";
  expect(await warningsOf(withTls)).toEqual([["WARNING", { folder: node.assetsDir, want }]]);
  expect(await warningsOf({ ETCD_ENDPOINTS: "http://a:2379" })).toEqual([]);
  writeFileSync(join(node.assetsDir, "etcd-ca"), "a certificate");
  expect(await warningsOf(withTls)).toEqual([]);
});

test("a folder in place of the template's file is told with the variable that names it", async () => {
  using node = new InstallNode();
  const run = await node.run({ env: { CNI_NETWORK_CONFIG_FILE: node.assetsDir } });
  expect(errorOf(run)).toBe(`read "${node.assetsDir}": EISDIR (is a directory); CNI_NETWORK_CONFIG_FILE names it`);
});

test("a state file in a folder that is not there is told with the variable that names it, before anything is changed", async () => {
  using node = new InstallNode();
  const path = join(node.folder, "none/state");
  const before = node.content();
  const run = await node.run({ env: { STATE_FILE: path } });
  expect(errorOf(run)).toMatch(new RegExp(`^install "${path}": .*ENOENT \\(no such file or directory\\); STATE_FILE names it$`));
  expect(node.content()).toEqual(before);
});
