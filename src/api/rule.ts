/** A rule of a profile or policy: what it matches, and what then happens. */

export type RuleAction = "Allow" | "Deny" | "Log" | "Pass";

/** Protocols that have a name. */
export const PROTOCOL_NAMES = ["TCP", "UDP", "SCTP", "UDPLite", "ICMP", "ICMPv6"] as const;

/** Name, or number 1..255. */
export type Protocol = (typeof PROTOCOL_NAMES)[number] | number;

export interface IcmpMatch {
  /** 0..254 */
  readonly type?: number;
  /** 0..255; needs `type`. */
  readonly code?: number;
}

/** A number, a range `first:last` with both ends in it, or the name of a port that endpoints declare. */
export type PortMatch = number | string;

export interface Rule {
  readonly action: RuleAction;
  readonly ipVersion?: 4 | 6;
  readonly protocol?: Protocol;
  readonly notProtocol?: Protocol;
  readonly icmp?: IcmpMatch;
  readonly notICMP?: IcmpMatch;
  readonly source?: EntityRule;
  readonly destination?: EntityRule;
  /** With `Allow` and TCP only. */
  readonly http?: HttpMatch;
  readonly metadata?: RuleMetadata;
}

/** One side of a packet. All fields must hold; inside a list one entry suffices. */
export interface EntityRule {
  /** CIDRs or addresses. An object that came past netplugctl may have host bits in them: they mean nothing. */
  readonly nets?: readonly string[];
  readonly notNets?: readonly string[];
  readonly selector?: string;
  readonly notSelector?: string;
  /** The only place where `global()` is allowed. */
  readonly namespaceSelector?: string;
  readonly serviceAccounts?: ServiceAccountMatch;
  readonly services?: ServiceMatch;
  readonly ports?: readonly PortMatch[];
  readonly notPorts?: readonly PortMatch[];
}

export interface ServiceAccountMatch {
  readonly names?: readonly string[];
  readonly selector?: string;
}

export interface ServiceMatch {
  readonly name: string;
  readonly namespace?: string;
}

export interface HttpMatch {
  readonly methods?: readonly string[];
  readonly paths?: readonly HttpPath[];
}

/** Exactly one of the two. */
export interface HttpPath {
  readonly exact?: string;
  readonly prefix?: string;
}

export interface RuleMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
}
