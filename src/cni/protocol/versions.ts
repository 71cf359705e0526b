/** The CNI versions that we speak, and which verbs each of them has. */

/**
 * Rising. Every one is served in full.
 *
 * @see CNI SPEC, "Released versions"
 */
export const SUPPORTED_VERSIONS = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;

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

export type Verb = keyof typeof VERB_SINCE;

/** For messages. */
export const VERBS: readonly string[] = ["ADD", "DEL", "CHECK", "STATUS", "GC", "VERSION"] satisfies readonly Verb[];

export function isVerb(command: string): command is Verb {
  return VERBS.includes(command);
}

export function isSupportedVersion(version: string): version is CniVersion {
  return (SUPPORTED_VERSIONS as readonly string[]).includes(version);
}

/** Whether `version` is `since` or a later one. */
export function isAtLeast(version: CniVersion, since: CniVersion): boolean {
  return SUPPORTED_VERSIONS.indexOf(version) >= SUPPORTED_VERSIONS.indexOf(since);
}

/** Whether a version of CNI has a verb. */
export function hasVerb(version: CniVersion, verb: Verb): boolean {
  return isAtLeast(version, VERB_SINCE[verb]);
}

/** First version that has a verb, for messages. */
export function firstVersionOf(verb: Verb): CniVersion {
  return VERB_SINCE[verb];
}

/** What VERSION prints. */
export function toVersionInfo(): { readonly cniVersion: CniVersion; readonly supportedVersions: readonly CniVersion[] } {
  return { cniVersion: LATEST_VERSION, supportedVersions: SUPPORTED_VERSIONS };
}
