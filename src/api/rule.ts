/** A rule of a profile or policy: what it matches, and what then happens. */

/** `Log` goes on with the next rule; `Pass` leaves the tier without a decision. */
type RuleAction = "Allow" | "Deny" | "Log" | "Pass";

/** Protocols that have a name. */
export const PROTOCOL_NAMES = ["TCP", "UDP", "SCTP", "UDPLite", "ICMP", "ICMPv6"] as const;

/** Name, or number 1..255. */
export type Protocol = (typeof PROTOCOL_NAMES)[number] | number;

/** Messages of one type, or of one type and code; ICMP or ICMPv6 as the rule's `protocol` says. */
export interface IcmpMatch {
  /** 0..254 */
  readonly type?: number;
  /** 0..255; needs `type`. */
  readonly code?: number;
}

/** A number, a range `first:last` with both ends in it, or the name of a port that endpoints declare. */
export type PortMatch = number | string;

/** `action` is for packets for which all other fields hold. A rule is about one family, if any field says which. */
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

/** Service accounts by name and by their labels; both must hold when both are given. */
interface ServiceAccountMatch {
  readonly names?: readonly string[];
  readonly selector?: string;
}

/** Backends of a Kubernetes service. Stands alone, at the destination of an egress or the source of an ingress rule. */
interface ServiceMatch {
  readonly name: string;
  readonly namespace?: string;
}

/** Requests with one of the methods and one of the paths, as far as these are given. */
interface HttpMatch {
  readonly methods?: readonly string[];
  readonly paths?: readonly HttpPath[];
}

/** Exactly one of the two. */
interface HttpPath {
  readonly exact?: string;
  readonly prefix?: string;
}

/** Notes of whoever wrote the rule; they change nothing. */
interface RuleMetadata {
  readonly annotations?: Readonly<Record<string, string>>;
}
