/** What somebody wrote into etcd past all validation, in the place of objects: `get` shows it, `delete` takes it away. */

import { beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();
beforeEach(async () => {
  await world.reset();
  await world.createPool("sound", "10.65.0.0/16");
});

const put = (place: string, text: string): Promise<string> => world.etcd.ctl(["put", `/netplug/v3/${place}`, text]);
const keys = (): Promise<string> => world.etcd.ctl(["get", "--prefix", "/netplug/v3/", "--keys-only"]);

const CASES = [
  ["ippool", "wrong", "ippools/wrong", []],
  ["ipreservation", "wrong", "ipreservations/wrong", []],
  ["node", "wrong", "nodes/wrong", []],
  ["workloadendpoint", "wrong", "workloadendpoints/team/wrong", ["-n", "team"]],
] as const;

test.each(CASES)("a %s is shown and deleted", async (kind, name, place, where) => {
  for (const [text, shown] of [
    ["no JSON", '"no JSON"'],
    ["{}", '"{}"'],
    ["x".repeat(201), `"${"x".repeat(200)}"… (201 characters)`],
  ] as const) {
    await put(place, text);
    const key = `/netplug/v3/${place}`;
    const left =
      `left out: read "${key}" in etcd: the value is not what netplug writes there; restore it or delete the key; ` +
      `it is ${shown}; "netplugctl delete ${[kind, name, ...where].join(" ")}" deletes it\n`;
    expect(await world.ctl(["get", kind, name, ...where])).toEqual({ status: 1, stdout: "", stderr: left });
    expect(await world.ctl(["get", kind, name, ...where, "-o", "json"])).toEqual({ status: 1, stdout: "", stderr: left });
    const all = await world.ctl(["get", kind, ...where]);
    expect([all.status, all.stderr]).toEqual([1, expect.stringContaining(left)]);
    expect(all.stdout.includes("sound")).toBe(kind === "ippool");

    const stay = kind === "ippool" ? "; its blocks stay" : "";
    expect(await world.done(["delete", kind, name, ...where])).toBe(
      `${kind}/${name} deleted; what was stored in its place was ${shown}${stay}\n`,
    );
    expect(await keys()).not.toContain(key);
  }
});

test("what is asked for beside it is shown, and what does not exist is named", async () => {
  await put("ippools/wrong", "no JSON");
  const { status, stdout, stderr } = await world.ctl(["get", "ippools", "sound", "wrong", "absent", "-o", "name"]);
  expect([status, stdout]).toEqual([1, "ippool/sound\n"]);
  expect(stderr).toContain('left out: read "/netplug/v3/ippools/wrong" in etcd');
  expect(stderr).toContain('find ippool "absent": there is none');
});

test("the command that deletes it reaches the datastore that was asked", async () => {
  await put("ippools/wrong", "no JSON");
  const file = join(world.folder, "access.yaml");
  await Bun.write(file, `kind: NetplugAPIConfig\nspec: { etcdEndpoints: "${world.etcd.endpoint}" }\n`);
  const { stderr } = await world.ctl(["--config", file, "get", "ippools"]);
  expect(stderr).toContain(`"netplugctl --config ${file} delete ippool wrong" deletes it`);
});

test("a key that no command can name is told, not more", async () => {
  await put("ippools/sound/more", "no JSON");
  const { status, stdout, stderr } = await world.ctl(["get", "ippools", "-o", "name"]);
  expect([status, stdout]).toEqual([1, "ippool/sound\n"]);
  expect(stderr).toBe(
    'left out: read "/netplug/v3/ippools/sound/more" in etcd: the value is not what netplug writes there; restore it or delete the key\n',
  );
});

test("nothing is deleted while a migration has frozen the datastore, or when what says so cannot be read", async () => {
  await put("ippools/wrong", "no JSON");
  await put("ipreservations/wrong", "no JSON");
  const information = await world.etcd.ctl(["get", "/netplug/v3/clusterinformations/default", "--print-value-only"]);
  for (const [text, fault] of [
    [information.trim().replace('"datastoreReady":true', '"datastoreReady":true,"datastoreFrozen":true'), "a migration has frozen it"],
    ["no JSON", 'read "/netplug/v3/clusterinformations/default" in etcd'],
  ] as const) {
    await put("clusterinformations/default", text);
    for (const kind of ["ippool", "ipreservation"]) {
      const { status, stderr } = await world.ctl(["delete", kind, "wrong"]);
      expect([status, stderr]).toEqual([1, expect.stringContaining(fault)]);
    }
    for (const place of ["ippools/wrong", "ipreservations/wrong"]) expect(await keys()).toContain(place);
  }
});
