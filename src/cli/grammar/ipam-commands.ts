/** The commands about addresses, as data. */

import { buildCommand, buildRouteMap } from "@stricli/core";
import type { IPAMConfigurationSpec } from "../../api/ipam-configuration.ts";
import { type Address, parseAddress } from "../../lib/ip/address.ts";
import { describeRefused } from "../../lib/ip/refused-text.ts";
import { baseOf, parsePrefix, sizeOf, tryParsePrefix } from "../../lib/ip/prefix.ts";
import type { AdoptFlags } from "../commands/ipam/adopt-name.ts";
import type { CheckFlags } from "../commands/ipam/check.ts";
import type { ExplainFlags } from "../commands/ipam/explain-asking.ts";
import type { ReleaseFlags } from "../commands/ipam/release.ts";
import type { ShowFlags } from "../commands/ipam/show.ts";
import type { SplitFlags } from "../commands/ipam/split.ts";
import { messageOf } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { type CliContext, runs, shows } from "./context.ts";
import { UsageError } from "../failures/failure.ts";
import { LOCK, UNLOCK } from "../failures/suggested-commands.ts";
import * as flags from "./flags.ts";

const ipFlag = { kind: "parsed", parse: explaining(parseHostAddress), placeholder: "ADDRESS" } as const;

/** An address, also as `get workloadendpoints` shows it: `10.65.0.7/32`. */
function parseHostAddress(text: string): Address {
  const prefix = tryParsePrefix(text);
  return prefix !== undefined && sizeOf(prefix) === 1n ? baseOf(prefix) : parseAddress(text);
}

/** Says of text that `parse` refuses when that may be for a form that other programs take. */
function explaining<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (thrown) {
      throw new UsageError(`${messageOf(thrown)}${describeRefused(text)}`);
    }
  };
}

const ipamShow = buildCommand<ShowFlags, [], CliContext>({
  loader: shows(async () => (await import("../commands/ipam/show.ts")).ipamShow),
  parameters: {
    flags: {
      ip: { ...ipFlag, brief: "who has this address", optional: true },
      showBlocks: flags.withoutValue("the blocks of each pool as well"),
      showBorrowed: flags.withoutValue("instead of pools: addresses that nodes hold in blocks of others"),
      showConfiguration: flags.withoutValue("instead of pools: settings of address management"),
      output: flags.reportOutput,
    },
    aliases: { o: "output" },
  },
  docs: {
    brief: "how full pools are, or who has an address",
    fullDescription: [
      "Show how full pools are, or who has an address.",
      "",
      "Exit status: 0 everything was counted; 1 something could not be read: stderr names it, and the numbers do not contain it.",
    ].join("\n"),
  },
});

/** @throws {UsageError} for an empty text, which no object is called */
function parseName(text: string): string {
  if (text === "") throw new UsageError('got "", want a name');
  return text;
}

/** @throws {UsageError} for a path that means another folder elsewhere */
function parseFolder(text: string): string {
  if (!text.startsWith("/")) throw new UsageError(`got ${quote(text)}, want a path that begins with "/"`);
  return text;
}

const nodeFlag = {
  kind: "parsed",
  parse: String,
  placeholder: "NODE",
  proposeCompletions(this: CliContext) {
    return this.propose.names("Node");
  },
} as const;

const poolFlag = {
  kind: "parsed",
  parse: parseName,
  optional: true,
  proposeCompletions(this: CliContext) {
    return this.propose.names("IPPool");
  },
} as const;

const poolsFlag = {
  ...poolFlag,
  brief: "what the network config of the node names: pools by name or CIDR, with commas between them",
  placeholder: "POOLS",
  variadic: ",",
} as const;

const ipamExplain = buildCommand<ExplainFlags, [], CliContext>({
  loader: shows(async () => (await import("../commands/ipam/explain.ts")).ipamExplain),
  parameters: {
    flags: {
      node: { ...nodeFlag, brief: "where the pod would run (default: where --pod runs, or -f says)", optional: true },
      pod: {
        kind: "parsed",
        parse: String,
        brief: "a pod whose labels and annotations count: NAME, or NAMESPACE/NAME; on Kubernetes only, or of -f",
        placeholder: "POD",
        optional: true,
        proposeCompletions(this: CliContext, partial: string) {
          return this.propose.pods(partial);
        },
      },
      filename: {
        ...flags.optionalFilenames,
        brief: "manifest of a pod or workload, applied or not, whose pod is meant: file or folder, YAML or JSON, - for stdin",
      },
      namespace: {
        ...flags.namespace,
        brief: "whose labels and annotations count (default: that of the manifest, else of the context, else default)",
      },
      families: {
        kind: "enum",
        values: ["IPv4", "IPv6"],
        brief: "what the network config of the node wants, with a comma between them (default: IPv4)",
        placeholder: "FAMILIES",
        variadic: ",",
        optional: true,
      },
      ipv4Pools: poolsFlag,
      ipv6Pools: poolsFlag,
      output: flags.reportOutput,
    },
    aliases: { f: "filename", n: "namespace", o: "output" },
  },
  docs: {
    brief: "which address a new pod would get now, and why not one of other pools; changes nothing",
    fullDescription: [
      "Show which address a new pod would get now, and why not one of other pools. It changes nothing, and keeps no address for anybody.",
      "",
      "With -f it tries a manifest before that is applied: a Pod, or what has a pod template, such as a Deployment. Of several in it, and of the pods of a",
      "StatefulSet, --pod chooses one; without it the first pod of a StatefulSet is meant.",
      "",
      "It decides as the plugin does, by pools, reservations and blocks, and on Kubernetes by labels and annotations of pod and namespace. What the",
      "network config of the node says it does not know: give that by --families, --ipv4-pools and --ipv6-pools, where it is not the default, and by",
      '--node, where "nodename" is not the name that the node has in Kubernetes. With another "ipam.type" than netplug-ipam the answer means nothing.',
      "Exit status: 0 the pod would get its addresses; 1 it would not: stderr says why, as its node would.",
    ].join("\n"),
  },
});

const ipamCheck = buildCommand<CheckFlags, [], CliContext>({
  loader: shows(async () => (await import("../commands/ipam/check.ts")).ipamCheck),
  parameters: { flags: { output: flags.reportOutput }, aliases: { o: "output" } },
  docs: {
    brief: "find leaked and doubled addresses and damaged blocks; changes nothing, and exits with 1 when there are any",
    fullDescription: [
      "Find leaked and doubled addresses and damaged blocks. It changes nothing.",
      "",
      "Exit status: 0 everything was checked, and there is no problem; 1 there are problems, or not everything could be checked.",
      "Warnings are of pools that give no address, such as one of two that overlap, or that hold addresses of nodes; they do not change the exit status.",
      'What could not be read is named on stderr, and in "unread" with -o json; the last line then says that the check is not complete.',
    ].join("\n"),
  },
});

const ipamRelease = buildCommand<ReleaseFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/ipam/release.ts")).ipamRelease),
  parameters: {
    flags: {
      ip: { ...ipFlag, brief: "the address", optional: true },
      fromReport: {
        kind: "parsed",
        parse: String,
        brief: "a report of ipam check -o json with the addresses, - for stdin",
        placeholder: "FILE",
        optional: true,
      },
    },
  },
  docs: {
    brief: "take an address away from whoever has it, or all that a report calls leaked",
    fullDescription: [
      "Take an address away from whoever has it, so that it can be given again.",
      "",
      'It is meant for an address whose workload is gone, as "ipam check" finds them. A workload that runs is not stopped and goes on using it.',
      "",
      "Give either --ip or --from-report.",
      "--from-report releases each leaked address of a report, unless it is not leaked any more, belongs to another attachment by now, was given",
      "less than a minute ago, or is on a node that Kubernetes does not hear of. Exit status: 0 none of them is leaked any more; 1 some still are.",
    ].join("\n"),
  },
});

const booleanFlag = {
  kind: "parsed",
  parse: flags.parseBoolean,
  placeholder: "BOOL",
  optional: true,
  proposeCompletions: () => ["true", "false"],
} as const;
const countFlag = { kind: "parsed", parse: flags.parseCount, placeholder: "N", optional: true } as const;

const ipamConfigure = buildCommand<IPAMConfigurationSpec, [], CliContext>({
  loader: runs(async () => (await import("../commands/ipam/configure.ts")).ipamConfigure),
  parameters: {
    flags: {
      strictAffinity: { ...booleanFlag, brief: "never take addresses from another node's block" },
      autoAllocateBlocks: { ...booleanFlag, brief: "nodes claim blocks by themselves" },
      maxBlocksPerHost: { ...countFlag, brief: "blocks that a node may claim; 0 is the default of 20" },
      ipCooldownSeconds: { ...countFlag, brief: "how long a released address cools down" },
    },
  },
  docs: { brief: "change the settings of address management" },
});

const ipamSplit = buildCommand<SplitFlags, [number], CliContext>({
  loader: runs(async () => (await import("../commands/ipam/split.ts")).ipamSplit),
  parameters: {
    flags: {
      name: { ...poolFlag, brief: "pool by its name", placeholder: "POOL" },
      cidr: { kind: "parsed", parse: explaining(parsePrefix), brief: "pool by its CIDR", placeholder: "CIDR", optional: true },
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "how many pools to make: a power of two", placeholder: "N", parse: flags.parsePowerOfTwo }],
    },
  },
  docs: {
    brief: "make several pools of one; the datastore must be locked",
    fullDescription: [
      "Make several pools of one. Workloads keep their addresses; whatever names the pool must then name the new ones.",
      "",
      "Give either --name or --cidr. The datastore must be locked before, and unlocked afterwards, by another command of this program:",
      `  ${LOCK}`,
      `  ${UNLOCK}`,
    ].join("\n"),
  },
});

const ipamAdopt = buildCommand<AdoptFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/ipam/adopt.ts")).ipamAdopt),
  parameters: {
    flags: {
      node: { ...nodeFlag, brief: "the name of this node, as the plugin knows it" },
      insteadOf: {
        kind: "parsed",
        parse: String,
        brief: "a wrong name that was given before: what this node has under it is moved",
        placeholder: "NODE",
        optional: true,
      },
      runDir: {
        kind: "parsed",
        parse: parseFolder,
        brief: "folder of ipam_lock_file in the network config (default: /var/run/netplug)",
        placeholder: "DIR",
        optional: true,
      },
    },
  },
  docs: {
    brief: "on a node: allocate addresses that its interfaces have, and that the datastore does not know, as after a restore or a move",
    fullDescription: [
      "Allocate the addresses that interfaces of netplug on this host have to the containers that use them, as far as nobody has them allocated.",
      "",
      "It is meant for a datastore that was restored from a backup, which is locked meanwhile, and for a move from host-local or to another datastore,",
      "where nothing is locked: run it as root on each node. On Kubernetes it also brings up to date the list by which the plugin finds the node's",
      "blocks: blocks.json, in the folder of --run-dir.",
      "It knows no default for --node: the name is the one that the network config gives the node, else the content of /var/lib/netplug/nodename,",
      "else the host name in lower case. It warns of a name that the datastore does not know; --instead-of corrects a wrong one.",
      "Exit status: 0 all of them are allocated to their users; 1 some cannot be, such as those that another container has been given since.",
    ].join("\n"),
  },
});

/** `ipam` and its subcommands. */
export const ipamCommands = buildRouteMap({
  routes: {
    show: ipamShow,
    explain: ipamExplain,
    check: ipamCheck,
    release: ipamRelease,
    configure: ipamConfigure,
    split: ipamSplit,
    adopt: ipamAdopt,
  },
  docs: { brief: "addresses: who has them, how full pools are, who would get which, what is wrong" },
});
