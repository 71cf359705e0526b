/** What every operation must know of the cluster before it decides anything. */

import { SINGLETON_NAME } from "../api/cluster-information.ts";
import {
  type CompleteIPAMConfigurationSpec,
  findConfigurationFaults,
  type IPAMConfiguration,
  type IPAMConfigurationSpec,
  withIPAMConfigurationDefaults,
} from "../api/ipam-configuration.ts";
import { CLUSTER_INFORMATION, expectUnchanged, requireReady } from "../datastore/cluster-state.ts";
import type { Query, Write } from "../datastore/datastore.ts";
import { NetplugError } from "../lib/errors.ts";
import { quoteValue } from "../lib/quote.ts";
import type { Moment } from "./block.ts";
import { type Facts, know } from "./facts.ts";

/** The cluster's settings; an absent object means the defaults. */
export const IPAM_CONFIGURATION = { type: "get", ref: { kind: "IPAMConfiguration", name: SINGLETON_NAME } } as const satisfies Query;

/** All pools. */
export const IP_POOLS = { type: "list", kind: "IPPool" } as const satisfies Query;

/** What is never given automatically. */
export const IP_RESERVATIONS = { type: "list", kind: "IPReservation" } as const satisfies Query;

/**
 * Refuses to give addresses while the datastore is not ready.
 *
 * @returns the condition that it is still so when the plan is committed
 * @throws {NetplugError} notInitialised, or tryAgainLater when it is locked or frozen
 */
export function expectReady(facts: Facts): Write {
  const stored = know(facts, CLUSTER_INFORMATION);
  requireReady(stored, "add");
  return expectUnchanged(stored);
}

/**
 * Refuses to release addresses only while nothing at all may be written; a datastore that was never initialised has none.
 *
 * @returns the condition that it is still so when the plan is committed
 * @throws {NetplugError} tryAgainLater
 */
export function expectNotFrozen(facts: Facts): Write {
  const stored = know(facts, CLUSTER_INFORMATION);
  if (stored !== undefined) requireReady(stored, "release");
  return expectUnchanged(stored);
}

/** What counts as cooled down. @param now seconds since 1970 */
export function momentOf(facts: Facts, now: number): Moment {
  return { now, cooldown: configurationOf(facts).ipCooldownSeconds };
}

/**
 * The settings of address management, complete. An invalid setting, which somebody wrote by hand, counts as its default, so that it does not
 * stop a release.
 */
function configurationOf(facts: Facts): CompleteIPAMConfigurationSpec {
  const spec = storedConfiguration(facts) ?? {};
  const faulty = new Set<string>(findConfigurationFaults(spec).map(({ field }) => field));
  const given = Object.entries(spec).filter(([field]) => !faulty.has(field));
  return withIPAMConfigurationDefaults(Object.fromEntries(given));
}

/**
 * The settings for an allocation, which must all be valid.
 *
 * @throws {NetplugError} invalidConfig for an invalid setting: it may have been meant to forbid the allocation
 */
export function requireConfiguration(facts: Facts): CompleteIPAMConfigurationSpec {
  const spec = storedConfiguration(facts);
  const [fault] = findConfigurationFaults(spec);
  if (fault === undefined) return configurationOf(facts);
  const { field, wanted } = fault;
  throw new NetplugError(
    "invalidConfig",
    `read IPAMConfiguration "${SINGLETON_NAME}": "${field}" is ${quoteValue(spec?.[field])}, want ${wanted}; correct it by "netplugctl ipam configure"`,
  );
}

function storedConfiguration(facts: Facts): IPAMConfigurationSpec | undefined {
  const stored = know(facts, IPAM_CONFIGURATION);
  return (stored?.value as IPAMConfiguration | undefined)?.spec;
}
