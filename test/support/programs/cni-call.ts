/** For tests: one call of a plugin, as a runtime makes it. */

/** Any JSON object; tests reach into it by path. */
export type Json = Readonly<Record<string, unknown>>;

export type CniVerb = "ADD" | "DEL" | "CHECK" | "STATUS" | "GC" | "VERSION";

export interface CniCall {
  readonly containerID?: string;
  /** Path for `CNI_NETNS`; absent: the variable is not set. */
  readonly netns?: string;
  readonly ifname?: string;
  readonly args?: string;
  /** The whole network config; absent: {@link TestNode.config}. A string goes to stdin as it is. */
  readonly config?: Json | string;
  /** Added to the environment; undefined removes. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default "netplug" */
  readonly plugin?: string;
}

/** A call that is about one attachment. */
export type AttachmentCall = CniCall & { readonly containerID: string };
