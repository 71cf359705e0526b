/** Something that happens to the world while a call is at work. */

import type { Host } from "../../../src/cni/host.ts";
import { type Step, withSteps } from "./steps.ts";

/**
 * Does something right before the first step that fits.
 *
 * @param happen may take its time before a step that does
 */
export function beforeStep(fits: (step: Step) => boolean, happen: () => void | Promise<void>): (real: Host) => Host {
  let hasHappened = false;
  return (real) =>
    withSteps(real, (step, work) => {
      if (hasHappened || !fits(step)) return work.whole();
      hasHappened = true;
      const happening = happen();
      return happening instanceof Promise ? happening.then(() => work.whole()) : work.whole();
    });
}

/** Does something when the first step that fits is done, before the plugin learns of it. */
export function afterStep(fits: (step: Step) => boolean, happen: () => Promise<void>): (real: Host) => Host {
  let hasHappened = false;
  return (real) =>
    withSteps(real, (step, work) => {
      if (hasHappened || !fits(step)) return work.whole();
      hasHappened = true;
      return (work.whole() as Promise<unknown>).finally(happen);
    });
}

/**
 * Does something before each turn that the plugin takes.
 *
 * @param happen is told the turn's file; what it returns is waited for
 */
export function beforeTurn(happen: (path: string) => Promise<unknown> | undefined): (real: Host) => Host {
  return (real) => ({
    ...real,
    async takeLock(path, waitMs) {
      await happen(path);
      return await real.takeLock(path, waitMs);
    },
    async takeTurn(path, options) {
      await happen(path);
      return await real.takeTurn(path, options);
    },
  });
}

/** What an ADD or DEL looks up in the datastore. */
export const isRead = ({ name }: Step): boolean => name.startsWith("openDatastore().read");

/** The commit of an ADD or DEL. */
export const isCommit = ({ name }: Step): boolean => name.startsWith("openDatastore().commit");

/** A call of the delegate. */
export const isDelegate = ({ name }: Step): boolean => name.startsWith("processes.run");
