/** The cluster's settings of address management: one object, `default`; absent it counts as all defaults. */

import type { Resource } from "./resource.ts";

/** What `ipam configure` sets. Every allocation and release reads it, with {@link withIPAMConfigurationDefaults}. */
export interface IPAMConfigurationSpec {
  /** Whether a node never takes addresses from another node's block. @default false */
  readonly strictAffinity?: boolean;
  /** Whether a node that needs space claims blocks by itself. @default true */
  readonly autoAllocateBlocks?: boolean;
  /** How many blocks of each family a node may claim, 0..1000000; 0 is the default of {@link DEFAULT_MAX_BLOCKS_PER_HOST}. @default 0 */
  readonly maxBlocksPerHost?: number;
  /** Seconds that a released address cools down before it is given again, 0..1200. @default 0 */
  readonly ipCooldownSeconds?: number;
}

/** The one object, as it is stored; an administrator need not make it. */
export type IPAMConfiguration = Resource<"IPAMConfiguration", IPAMConfigurationSpec>;

/** The configuration with every default applied. */
export type CompleteIPAMConfigurationSpec = Required<IPAMConfigurationSpec>;

/** What `maxBlocksPerHost: 0` means. */
export const DEFAULT_MAX_BLOCKS_PER_HOST = 20;

/** Most that `maxBlocksPerHost` may be; the CRD and the schema hold it. */
export const MAX_BLOCKS_PER_HOST_LIMIT = 1_000_000;

/** Most that `ipCooldownSeconds` may be; the CRD and the schema hold it. */
export const MAX_IP_COOLDOWN_SECONDS = 1_200;

const DEFAULTS: CompleteIPAMConfigurationSpec = {
  strictAffinity: false,
  autoAllocateBlocks: true,
  maxBlocksPerHost: 0,
  ipCooldownSeconds: 0,
};

/** Applies the defaults; without an object (undefined) all of them. */
export function withIPAMConfigurationDefaults(spec: IPAMConfigurationSpec | undefined): CompleteIPAMConfigurationSpec {
  return { ...DEFAULTS, ...spec };
}

/** A setting that no validation lets pass. */
export interface ConfigurationFault {
  readonly field: keyof IPAMConfigurationSpec;
  /** Ends the sentence "want …". */
  readonly wanted: string;
}

/** What is wrong with settings that somebody wrote by hand. */
export function findConfigurationFaults(spec: IPAMConfigurationSpec | undefined): readonly ConfigurationFault[] {
  const faults: ConfigurationFault[] = [];
  for (const field of ["strictAffinity", "autoAllocateBlocks"] as const) {
    if (typeof (spec?.[field] ?? false) !== "boolean") faults.push({ field, wanted: "true or false" });
  }
  const limits = { maxBlocksPerHost: MAX_BLOCKS_PER_HOST_LIMIT, ipCooldownSeconds: MAX_IP_COOLDOWN_SECONDS } as const;
  for (const field of ["maxBlocksPerHost", "ipCooldownSeconds"] as const) {
    const value = spec?.[field] ?? 0;
    if (!(Number.isInteger(value) && value >= 0 && value <= limits[field]))
      faults.push({ field, wanted: `a whole number 0..${limits[field]}` });
  }
  return faults;
}
