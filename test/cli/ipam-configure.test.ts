import { beforeEach, describe, expect, test } from "bun:test";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();
beforeEach(() => world.reset());

describe("ipam configure", () => {
  test("changes what is given and keeps the rest", async () => {
    await world.done(["init"]);
    expect(await world.done(["ipam", "show", "--show-configuration"])).toMatch(/^maxBlocksPerHost +0 \(the default of 20\)$/m);
    expect(await world.done(["ipam", "configure", "--strict-affinity=true", "--max-blocks-per-host=3"])).toBe(
      "strictAffinity: true\nmaxBlocksPerHost: 3\n",
    );
    expect(await world.done(["ipam", "configure", "--ip-cooldown-seconds=60", "--auto-allocate-blocks=FALSE"])).toBe(
      "autoAllocateBlocks: false\nipCooldownSeconds: 60\n",
    );
    const expected = { strictAffinity: true, autoAllocateBlocks: false, maxBlocksPerHost: 3, ipCooldownSeconds: 60 };
    expect(await world.stored("/netplug/v3/ipamconfigurations/")).toMatchObject({
      "/netplug/v3/ipamconfigurations/default": { spec: expected },
    });
    expect(await world.json("ipam", "show", "--show-configuration")).toEqual(expected);
    expect(await world.done(["ipam", "show", "--show-configuration"])).toMatch(/^maxBlocksPerHost +3$/m);
  });

  test.each([
    [["--strict-affinity=maybe"], 2, "want true or false"],
    [["--max-blocks-per-host=-1"], 2, 'got "-1", want a whole number without sign'],
    [["--ip-cooldown-seconds=1201"], 1, "want a whole number 0..1200"],
    [["--auto-allocate-blocks=false"], 1, "together with strictAffinity false"],
    [[], 2, "got none"],
  ])("%j is status %p: %p", async (flags, status, message) => {
    await world.done(["init"]);
    const result = await world.ctl(["ipam", "configure", ...flags]);
    expect([result.status, result.stderr]).toEqual([status, expect.stringContaining(message)]);
  });
});
