/** A command of a history, in the form that fast-check plays and shortens. */

import fc from "fast-check";
import { verify } from "./invariants.ts";
import type { State } from "./state.ts";
import type { World } from "./world.ts";

export type Command = fc.AsyncCommand<State, World>;

/**
 * @param text name and arguments, as a counterexample shows them
 * @param play does it to the real thing and to the model, and compares
 * @param canPlay whether it makes sense now. @default always
 */
export function command(
  text: string,
  play: (state: State, world: World) => Promise<void>,
  canPlay: (state: Readonly<State>) => boolean = () => true,
): Command {
  return {
    check: (state) => !state.limit.isOver() && canPlay(state),
    async run(state, world) {
      try {
        await play(state, world);
        await verify(state, world);
      } catch (cause) {
        const told = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`${text}: ${told}\nwhat happened:\n${state.log.join("\n")}`, { cause });
      }
    },
    toString: () => text,
  };
}

/** Locked, administrators change nothing. */
export function isReady(state: Readonly<State>): boolean {
  return state.isReady;
}

/** For {@link pickFrom}. */
export const anyIndex: fc.Arbitrary<number> = fc.nat({ max: 99 });

/** One of however many there are. */
export function pickFrom<T>(all: readonly T[], at: number): T | undefined {
  return all[at % all.length];
}
