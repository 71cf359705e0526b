/** The commands of netplugctl as data. Help, completion and parsing follow from it; an implementation is loaded when it runs. */

import {
  type Application,
  ArgumentScannerError,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type CommandContext,
  formatMessageForArgumentScannerError,
  text_en,
} from "@stricli/core";
import { parseAddress } from "../lib/ip/address.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
import { messageOf } from "../lib/errors.ts";
import type { CreateFlags } from "./commands/create.ts";
import type { DeleteFlags } from "./commands/delete.ts";
import type { GetFlags } from "./commands/get.ts";
import type { CheckFlags } from "./commands/ipam-check.ts";
import type { ConfigureFlags } from "./commands/ipam-configure.ts";
import type { ReleaseFlags } from "./commands/ipam-release.ts";
import type { ShowFlags } from "./commands/ipam-show.ts";
import type { SplitFlags } from "./commands/ipam-split.ts";
import type { LabelFlags } from "./commands/label.ts";
import type { LedgerFlags } from "./commands/ledger.ts";
import type { PatchFlags } from "./commands/patch.ts";
import type { ValidateFlags } from "./commands/validate.ts";
import type { VersionFlags } from "./commands/version.ts";
import * as flags from "./flags.ts";
import type { Cli } from "./io.ts";
import { DEFAULT_LOG_FILE } from "./ledger-file.ts";
import { PATCH_TYPES } from "./patch/apply.ts";

/** What every command runs in. */
export interface CliContext extends CommandContext {
  readonly cli: Cli;
  /** Takes the exit status. */
  finish(status: number): void;
  /** Takes what a command threw. */
  fail(thrown: unknown): void;
  /** Names of objects that the words so far ask for; for completion. */
  proposeNames(partial: string): Promise<readonly string[]>;
}

type NoFlags = Readonly<Record<never, never>>;

type Implementation<F, A extends readonly unknown[]> = (cli: Cli, flags: F, ...args: A) => Promise<number>;

/** Loads an implementation and hands it what it needs. */
function runs<F, A extends readonly unknown[]>(load: () => Promise<Implementation<F, A>>) {
  return async () => {
    const implementation = await load();
    return async function run(this: CliContext, given: F, ...args: A): Promise<void> {
      try {
        this.finish(await implementation(this.cli, given, ...args));
      } catch (thrown) {
        this.fail(thrown);
      }
    };
  };
}

/** `KIND NAME…`, with proposals for both. */
const objects = {
  kind: "array",
  parameter: {
    brief: "kind (singular, plural or short name) and names, or KIND/NAME",
    placeholder: "KIND [NAME]",
    parse: String,
    proposeCompletions(this: CliContext, partial: string) {
      return this.proposeNames(partial);
    },
  },
} as const;

const inputFlags = { filename: flags.filenames, namespace: flags.namespace };
const inputAliases = { f: "filename", n: "namespace" } as const;

const create = buildCommand<CreateFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/create.ts")).create),
  parameters: {
    flags: { ...inputFlags, skipExists: { kind: "boolean", brief: "leave what exists as it is", optional: true, withNegated: false } },
    aliases: inputAliases,
  },
  docs: { brief: "create objects from a file" },
});

const apply = buildCommand<ValidateFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/create.ts")).apply),
  parameters: { flags: inputFlags, aliases: inputAliases },
  docs: { brief: "create objects, or make existing ones like them" },
});

const replace = buildCommand<ValidateFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/create.ts")).replace),
  parameters: { flags: inputFlags, aliases: inputAliases },
  docs: { brief: "make existing objects like those of a file" },
});

const validate = buildCommand<ValidateFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/validate.ts")).validate),
  parameters: { flags: inputFlags, aliases: inputAliases },
  docs: { brief: "check a file without a datastore" },
});

const remove = buildCommand<DeleteFlags, string[], CliContext>({
  loader: runs(async () => (await import("./commands/delete.ts")).remove),
  parameters: {
    flags: {
      filename: flags.optionalFilenames,
      namespace: flags.namespace,
      ignoreNotFound: { kind: "boolean", brief: "what does not exist is no failure", optional: true, withNegated: false },
    },
    aliases: inputAliases,
    positional: objects,
  },
  docs: { brief: "delete objects; workloads keep the addresses of a deleted pool" },
});

const get = buildCommand<GetFlags, string[], CliContext>({
  loader: runs(async () => (await import("./commands/get.ts")).get),
  parameters: {
    flags: { filename: flags.optionalFilenames, namespace: flags.namespace, allNamespaces: flags.allNamespaces, output: flags.output },
    aliases: { ...inputAliases, A: "allNamespaces", o: "output" },
    positional: objects,
  },
  docs: { brief: "show objects" },
});

const patch = buildCommand<PatchFlags, string[], CliContext>({
  loader: runs(async () => (await import("./commands/patch.ts")).patch),
  parameters: {
    flags: {
      patch: { kind: "parsed", parse: String, brief: "what to change, as JSON", placeholder: "JSON" },
      type: { kind: "enum", values: PATCH_TYPES, default: "strategic", brief: "arithmetic of the patch" },
      namespace: flags.namespace,
    },
    aliases: { p: "patch", n: "namespace" },
    positional: objects,
  },
  docs: { brief: "change some fields of an object" },
});

const label = buildCommand<LabelFlags, string[], CliContext>({
  loader: runs(async () => (await import("./commands/label.ts")).label),
  parameters: {
    flags: {
      namespace: flags.namespace,
      overwrite: { kind: "boolean", brief: "accepted for scripts written for kubectl; always so", optional: true, withNegated: false },
    },
    aliases: { n: "namespace" },
    positional: { ...objects, parameter: { ...objects.parameter, brief: "kind and name, then KEY=VALUE to set or KEY- to remove" } },
  },
  docs: { brief: "set and remove labels of an object" },
});

const init = buildCommand<NoFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/init.ts")).init),
  parameters: {},
  docs: { brief: "prepare a new datastore" },
});

const version = buildCommand<VersionFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/version.ts")).version),
  parameters: {
    flags: {
      client: { kind: "boolean", brief: "this program only; does not ask the datastore", optional: true, withNegated: false },
      output: flags.reportOutput,
    },
    aliases: { o: "output" },
  },
  docs: { brief: "versions of this program and of the cluster" },
});

const ledger = buildCommand<LedgerFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/ledger.ts")).ledger),
  parameters: {
    flags: {
      file: { kind: "parsed", parse: String, brief: "log of the CNI plugin", placeholder: "FILE", default: DEFAULT_LOG_FILE },
      last: { kind: "parsed", parse: flags.parseCount, brief: "how many entries", placeholder: "N", default: "20" },
      container: { kind: "parsed", parse: String, brief: "only containers whose ID begins so", placeholder: "ID", optional: true },
      verb: { kind: "parsed", parse: String, brief: "only this verb", placeholder: "VERB", optional: true },
      output: flags.reportOutput,
    },
    aliases: { o: "output" },
  },
  docs: { brief: "where the time of each ADD and DEL went" },
});

const ipFlag = { kind: "parsed", parse: parseAddress, brief: "an address", placeholder: "ADDRESS" } as const;

const ipamShow = buildCommand<ShowFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/ipam-show.ts")).ipamShow),
  parameters: {
    flags: {
      ip: { ...ipFlag, brief: "who has this address", optional: true },
      showBlocks: { kind: "boolean", brief: "the blocks of each pool as well", optional: true, withNegated: false },
      showBorrowed: { kind: "boolean", brief: "addresses that nodes hold in blocks of others", optional: true, withNegated: false },
      showConfiguration: { kind: "boolean", brief: "settings of address management", optional: true, withNegated: false },
      output: flags.reportOutput,
    },
    aliases: { o: "output" },
  },
  docs: { brief: "how full pools are, or who has an address" },
});

const ipamCheck = buildCommand<CheckFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/ipam-check.ts")).ipamCheck),
  parameters: { flags: { output: flags.reportOutput }, aliases: { o: "output" } },
  docs: { brief: "find what contradicts itself; fails when there is something" },
});

const ipamRelease = buildCommand<ReleaseFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/ipam-release.ts")).ipamRelease),
  parameters: { flags: { ip: ipFlag } },
  docs: { brief: "take an address away from whoever has it" },
});

const booleanFlag = {
  kind: "parsed",
  parse: flags.parseBoolean,
  placeholder: "BOOL",
  optional: true,
  proposeCompletions: () => ["true", "false"],
} as const;
const countFlag = { kind: "parsed", parse: flags.parseCount, placeholder: "N", optional: true } as const;

const ipamConfigure = buildCommand<ConfigureFlags, [], CliContext>({
  loader: runs(async () => (await import("./commands/ipam-configure.ts")).ipamConfigure),
  parameters: {
    flags: {
      strictAffinity: { ...booleanFlag, brief: "never take addresses from another node's block" },
      autoAllocateBlocks: { ...booleanFlag, brief: "nodes claim blocks by themselves" },
      maxBlocksPerHost: { ...countFlag, brief: "blocks that a node may claim; 0 is the default of 20" },
      ipCooldownSeconds: { ...countFlag, brief: "how long a released address rests" },
    },
  },
  docs: { brief: "change the settings of address management" },
});

const ipamSplit = buildCommand<SplitFlags, [number], CliContext>({
  loader: runs(async () => (await import("./commands/ipam-split.ts")).ipamSplit),
  parameters: {
    flags: {
      name: { kind: "parsed", parse: String, brief: "pool by its name", placeholder: "POOL", optional: true },
      cidr: { kind: "parsed", parse: parsePrefix, brief: "pool by its CIDR", placeholder: "CIDR", optional: true },
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "how many pools to make: a power of two", placeholder: "N", parse: flags.parseCount }],
    },
  },
  docs: { brief: "make several pools of one; the datastore must be locked" },
});

const ipam = buildRouteMap({
  routes: { show: ipamShow, check: ipamCheck, release: ipamRelease, configure: ipamConfigure, split: ipamSplit },
  docs: { brief: "addresses: who has them, how full pools are, what is wrong" },
});

const completion = buildCommand<NoFlags, [string], CliContext>({
  loader: runs(async () => (await import("./commands/completion.ts")).completion),
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "bash, zsh or fish", placeholder: "SHELL", parse: String, proposeCompletions: () => ["bash", "zsh", "fish"] }],
    },
  },
  docs: { brief: "a script for the completion of command lines" },
});

const root = buildRouteMap({
  routes: { init, create, apply, replace, delete: remove, get, patch, label, validate, version, ipam, ledger, completion },
  docs: {
    brief: "administration of netplug",
    fullDescription: [
      "Administration of netplug: pools, addresses, endpoints.",
      "",
      "Options that may stand anywhere:",
      "  -c, --config FILE        datastore access (default: /etc/netplug/netplugctl.cfg)",
      "      --kubeconfig FILE    access to Kubernetes",
      "      --context NAME       context of the kubeconfig",
      "",
      "Exit status: 0 done, 1 refused or failed, 2 wrong usage.",
    ].join("\n"),
  },
});

/** Builds the application. @param name what it was called as */
export function buildCli(name: string): Application<CliContext> {
  return buildApplication(root, {
    name,
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
    documentation: { caseStyle: "convert-camel-to-kebab", useAliasInUsageLine: true },
    completion: { includeAliases: false },
    localization: {
      text: {
        ...text_en,
        exceptionWhileParsingArguments: (thrown) => `${name}: ${toArgumentFault(thrown)}`,
        noCommandRegisteredForInput: ({ input, corrections }) =>
          `${name}: find command ${JSON.stringify(input)}: there is none${corrections.length === 0 ? "" : `, did you mean ${corrections.join(" or ")}?`}`,
      },
    },
  });
}

function toArgumentFault(thrown: unknown): string {
  if (!(thrown instanceof ArgumentScannerError)) return messageOf(thrown);
  return formatMessageForArgumentScannerError(thrown, {
    ArgumentParseError: (error) => `read ${toArgumentName(error.externalFlagNameOrPlaceholder)}: ${messageOf(error.exception)}`,
    FlagNotFoundError: ({ input, corrections }) =>
      `read option "--${input}": there is none${corrections.length === 0 ? "" : `, did you mean ${corrections.map((one) => `--${one}`).join(" or ")}?`}`,
    AliasNotFoundError: ({ input }) => `read option "-${input}": there is none`,
    EnumValidationError: ({ externalFlagName, input, values }) =>
      `read option "--${externalFlagName}": got ${JSON.stringify(input)}, want ${values.join(", ")}`,
    UnsatisfiedFlagError: ({ externalFlagName }) => `read option "--${externalFlagName}": it is missing, or its value is`,
    UnexpectedPositionalError: ({ input, expectedCount }) => `read arguments: got ${JSON.stringify(input)} too many, want ${expectedCount}`,
    UnsatisfiedPositionalError: ({ placeholder }) => `read arguments: ${placeholder} is missing`,
    UnexpectedFlagError: ({ externalFlagName }) => `read option "--${externalFlagName}": got it twice, want it once`,
    InvalidNegatedFlagSyntaxError: ({ externalFlagName }) => `read option "--${externalFlagName}": want no value`,
  });
}

function toArgumentName(name: string): string {
  return /^[a-z]/.test(name) ? `option "--${name}"` : name;
}
