/**
 * Random histories of runtimes, machines and administrators on the real plugin, beside a small model of what must be: see model/README.md.
 */

import { test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../support/seed.ts";
import { share } from "../support/share.ts";
import { burstCommands } from "./model/burst.ts";
import { clusterCommands, expectProblems, setReady } from "./model/cluster-commands.ts";
import { verify } from "./model/invariants.ts";
import { createPool, poolCommands } from "./model/pool-commands.ts";
import { endAll, runtimeCommands } from "./model/runtime-commands.ts";
import { State } from "./model/state.ts";
import { FIRST_POOLS, POOLS } from "./model/demands.ts";
import { World } from "./model/world.ts";

/** How long histories are played. */
const SECONDS = Number(process.env["MODEL_SECONDS"] ?? 20);
/** How long a counterexample is made shorter. */
const SHORTEN_SECONDS = Number(process.env["MODEL_SHORTEN_SECONDS"] ?? 120);
const LONGEST_HISTORY = 60;

const world = share(() => World.start());

test(
  "whatever runtimes, machines and administrators do in whatever order, each address has one owner, and every answer is the one of the contract",
  async () => {
    let end = performance.now() + SECONDS * 1000;
    let hasFailed = false;
    let played = 0;
    const isOver = (): boolean => performance.now() > end;
    const commands = fc.commands([fc.oneof(...runtimeCommands, ...poolCommands, ...clusterCommands, ...burstCommands)], {
      maxCommands: LONGEST_HISTORY,
      size: "max",
    });
    const property = fc.asyncProperty(commands, async (history) => {
      if (isOver()) return;
      const state = new State({ isOver: () => !hasFailed && isOver() });
      try {
        await world.begin();
        for (const [name, spec] of POOLS.slice(0, FIRST_POOLS)) await createPool(state, world, name, spec);
        await fc.asyncModelRun(() => ({ model: state, real: world }), history);
        played += state.log.length;
        if (!state.isReady) await setReady(state, world, true);
        await expectProblems(state, world);
        await endAll(state, world);
        await verify(state, world);
        await expectProblems(state, world);
      } catch (thrown) {
        if (!hasFailed) end = performance.now() + SHORTEN_SECONDS * 1000;
        hasFailed = true;
        await clean(state);
        throw thrown;
      }
    });
    // more than there is time for; biased, most histories would be a few commands long
    await fc.assert(property, { seed: testSeed(), numRuns: SECONDS * 2, unbiased: true });
    console.error(`${played} steps`);
  },
  (SECONDS + SHORTEN_SECONDS + 60) * 1000,
);

/** After a failure: what others would stumble over. */
async function clean(state: State): Promise<void> {
  for (const { sandbox, ifName, demand } of state.attachments.values()) await world.call("DEL", { sandbox, ifName, demand });
  for (const { netns } of state.everySandbox) netns.delete();
}
