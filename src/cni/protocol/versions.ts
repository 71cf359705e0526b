/** The CNI versions that we speak, and which verbs each of them has. */

/**
 * Rising. Every one is served in full.
 *
 * @see CNI SPEC, "Released versions"
 */
export const SUPPORTED_VERSIONS = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;

/** A `cniVersion` that we serve. A config with another one is refused with code 1, incompatibleVersion. */
export type CniVersion = (typeof SUPPORTED_VERSIONS)[number];

/** What VERSION says whatever it is asked: it answers without reading stdin. */
export const LATEST_VERSION = "1.1.0" satisfies CniVersion;

/** What a network config without `cniVersion` means. */
export const DEFAULT_VERSION = "0.1.0" satisfies CniVersion;

/** The version in which each verb came. VERSION is answered in every version: runtimes learn the versions by it. */
const VERB_SINCE = {
  ADD: "0.1.0",
  DEL: "0.1.0",
  VERSION: "0.1.0",
  CHECK: "0.4.0",
  STATUS: "1.1.0",
  GC: "1.1.0",
} as const satisfies Record<string, CniVersion>;

/** A `CNI_COMMAND` that we know; another one is refused with code 4, badEnvironment. */
export type CniVerb = keyof typeof VERB_SINCE;

/** In the order in which messages list them. */
export const VERBS: readonly string[] = ["ADD", "DEL", "CHECK", "STATUS", "GC", "VERSION"] satisfies readonly CniVerb[];

/** Whether `CNI_COMMAND` is any verb at all; whether a version of CNI has it, {@link hasVerb} says. */
export function isVerb(command: string): command is CniVerb {
  return VERBS.includes(command);
}

/** For every version from outside: of a config, of a `prevResult`, of a delegate's answer. Only the exact text fits. */
export function isSupportedVersion(version: string): version is CniVersion {
  return (SUPPORTED_VERSIONS as readonly string[]).includes(version);
}

/** Whether `version` is `since` or a later one. */
export function isAtLeast(version: CniVersion, since: CniVersion): boolean {
  return SUPPORTED_VERSIONS.indexOf(version) >= SUPPORTED_VERSIONS.indexOf(since);
}

/** Whether a version of CNI has a verb. */
export function hasVerb(version: CniVersion, verb: CniVerb): boolean {
  return isAtLeast(version, VERB_SINCE[verb]);
}

/** First version that has a verb, for messages. */
export function firstVersionOf(verb: CniVerb): CniVersion {
  return VERB_SINCE[verb];
}

/** What VERSION prints. */
export function toVersionInfo(): { readonly cniVersion: CniVersion; readonly supportedVersions: readonly CniVersion[] } {
  return { cniVersion: LATEST_VERSION, supportedVersions: SUPPORTED_VERSIONS };
}
