/** How long an ADD can go on: what the plugin leaves for later calls, and what netplugctl calls a leak, both depend on it. */

/** Milliseconds after which no ADD is under way any more. */
export const LONGEST_ADD_MS = 60_000;
