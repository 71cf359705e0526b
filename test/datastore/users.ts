/** For tests: an etcd with users, of whom `netplug` may do what is under /netplug/ and `reader` may read it. */

import type { EtcdServer } from "../support/servers/etcd.ts";

/** Of every user. */
export const PASSWORD = "s3cret-of-netplug";

/** What a config has to be let in as `netplug`. */
export const AS_NETPLUG = { username: "netplug", password: PASSWORD };

/** What `etcdctl` needs to be root by password. */
export const AS_ROOT = ["--user=root", `--password=${PASSWORD}`] as const;

/**
 * Makes the users `root`, `netplug`, `reader` and `nobody`, and switches them on.
 *
 * @param access what `etcdctl` needs to be let in, as `root`
 */
export async function switchUsersOn(server: EtcdServer, access: readonly string[] = []): Promise<void> {
  const users = ["root", "netplug", "reader", "nobody"];
  for (const user of users) await server.ctl(["user", "add", `${user}:${PASSWORD}`], access);
  await grant(server, "root", undefined, access);
  await grant(server, "netplug", "readwrite", access);
  await grant(server, "reader", "read", access);
  await server.ctl(["auth", "enable"], access);
}

/** A new password, here the same again, ends the tokens that were given for the old one. */
export async function endTokensOf(server: EtcdServer, user: string): Promise<void> {
  await server.ctl(["user", "passwd", user, "--interactive=false", ...AS_ROOT], [], `${PASSWORD}\n`);
}

/** Gives a user a role of the same name. */
async function grant(server: EtcdServer, name: string, permission: string | undefined, access: readonly string[]): Promise<void> {
  await server.ctl(["role", "add", name], access);
  if (permission !== undefined) await server.ctl(["role", "grant-permission", "--prefix=true", name, permission, "/netplug/"], access);
  await server.ctl(["user", "grant-role", name, name], access);
}
