/** The commands of netplugctl as data. Help, completion and parsing follow from it; an implementation is loaded when it runs. */

import { type Application, buildApplication, buildCommand, buildRouteMap, text_en } from "@stricli/core";
import { toChoice } from "../../lib/choice.ts";
import { quote } from "../../lib/quote.ts";
import type { LedgerFlags } from "../commands/ledger.ts";
import type { VersionFlags } from "../commands/version.ts";
import { type CliContext, type NoFlags, runs, shows } from "./context.ts";
import { UsageError } from "../failures/failure.ts";
import * as flags from "./flags.ts";
import { ipamCommands } from "./ipam-commands.ts";
import { resourceCommands } from "./resource-commands.ts";
import { type NamedCommand, toArgumentFault, toKebab, toStrayFault } from "./argument-fault.ts";
import { commandMeantBy } from "../arguments/other-tools.ts";

const init = buildCommand<NoFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/init.ts")).init),
  parameters: {},
  docs: { brief: "prepare a new datastore; on Kubernetes bring the CRDs, too" },
});

const version = buildCommand<VersionFlags, [], CliContext>({
  loader: shows(async () => (await import("../commands/version.ts")).version),
  parameters: {
    flags: {
      client: flags.withoutValue("this program only; does not ask the datastore"),
      output: flags.reportOutput,
    },
    aliases: { o: "output" },
  },
  docs: { brief: "versions of this program and of the cluster" },
});

/** Where the plugin writes its log with the network configs that come with netplug. */
const DEFAULT_LOG_FILE = "/var/log/netplug/cni/cni.log";

/** Verbs whose time the plugin notes. */
const VERBS = ["ADD", "DEL"] as const;

function parseVerb(text: string): string {
  const verb = text.toUpperCase();
  if (VERBS.some((known) => known === verb)) return verb;
  throw new UsageError(`got ${quote(text)}, want ${toChoice(VERBS)}`);
}

const ledger = buildCommand<LedgerFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/ledger.ts")).ledger),
  parameters: {
    flags: {
      file: {
        kind: "parsed",
        parse: String,
        brief: "log of the CNI plugin, - for stdin",
        placeholder: "FILE",
        default: DEFAULT_LOG_FILE,
      },
      last: { kind: "parsed", parse: flags.parseCount, brief: "how many of the newest entries", placeholder: "N", default: "20" },
      container: { kind: "parsed", parse: String, brief: "only containers whose ID begins so", placeholder: "ID", optional: true },
      pod: { kind: "parsed", parse: String, brief: "only this pod: NAME, or NAMESPACE/NAME", placeholder: "POD", optional: true },
      verb: {
        kind: "parsed",
        parse: parseVerb,
        brief: "only this verb: ADD or DEL",
        placeholder: "VERB",
        optional: true,
        proposeCompletions: () => VERBS,
      },
      output: flags.reportOutput,
    },
    aliases: { o: "output" },
  },
  docs: { brief: "where the time of each ADD and DEL on this node went" },
});

const completion = buildCommand<NoFlags, [string], CliContext>({
  loader: runs(async () => (await import("../commands/completion.ts")).completion),
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "bash, zsh or fish", placeholder: "SHELL", parse: String, proposeCompletions: () => ["bash", "zsh", "fish"] }],
    },
  },
  docs: { brief: "a script for the completion of command lines" },
});

/** All commands. @param program what a person types to call it, for examples */
function buildRoot(program: string) {
  return buildRouteMap({
    routes: { init, ...resourceCommands(program), version, ipam: ipamCommands, ledger, completion },
    docs: {
      brief: "administration of netplug",
      fullDescription: [
        "Administration of netplug: pools, addresses, endpoints.",
        "",
        ...describeDatastores(program),
        "",
        "Options that may be given anywhere:",
        "  -c, --config FILE        datastore access, - for stdin (default: /etc/netplug/netplugctl.cfg)",
        "      --kubeconfig FILE    access to Kubernetes",
        "      --context NAME       context of the kubeconfig",
        "",
        "Exit status: 0 done, 1 refused or failed, 2 wrong usage. That of diff is its own: see diff --help.",
        `Options of a command, kinds and examples: ${program} COMMAND --help, or ${program} help COMMAND.`,
      ].join("\n"),
    },
  });
}

/** Help text: how a command finds the datastore. */
function describeDatastores(program: string): readonly string[] {
  const fallback = program === "kubectl netplug" ? "the Kubernetes API of the current context" : "etcd at http://127.0.0.1:2379";
  return [
    `It works on ${fallback}, unless options, environment or file say otherwise:`,
    "  etcd          ETCD_ENDPOINTS; with TLS also ETCD_CA_CERT_FILE, ETCD_CERT_FILE, ETCD_KEY_FILE",
    "  Kubernetes    DATASTORE_TYPE=kubernetes, --kubeconfig or --context",
  ];
}

/** How similar a proposed command must be: better none than a silly one. */
const DISTANCE = { threshold: 3, weights: { insertion: 1, deletion: 3, substitution: 2, transposition: 0 } } as const;

type RoutingTarget = NonNullable<ReturnType<ReturnType<typeof buildRoot>["getRoutingTargetForInput"]>>;

/** Options that, besides those that may stand anywhere, may stand before a command. */
const BEFORE_COMMANDS = ["namespace"];

/** How they come from the command line where no command follows them. */
export const EARLY_OPTION = /^(-n|--namespace)(=|$)/;

/** The command that a command line begins with. */
export function commandOf(words: readonly string[]): NamedCommand {
  let target: RoutingTarget = buildRoot("");
  let count = 0;
  for (const word of words) {
    const next: RoutingTarget | undefined = "getRoutingTargetForInput" in target ? target.getRoutingTargetForInput(word) : undefined;
    if (next === undefined) break;
    target = next;
    count++;
  }
  const { flags: own = {}, aliases = {} } = "parameters" in target ? target.parameters : {};
  return {
    words: words.slice(0, count),
    isGroup: !("parameters" in target),
    flags: [
      ...("parameters" in target ? Object.keys(own).map(toKebab) : BEFORE_COMMANDS),
      ...flags.GLOBAL_OPTIONS.map(({ name }) => name),
      flags.HELP_OPTION.name,
    ],
    flagsWithoutValue: Object.entries(own).flatMap(([name, { kind }]) => (kind === "boolean" ? [toKebab(name)] : [])),
    letters: [...Object.keys(aliases), ...flags.GLOBAL_OPTIONS.flatMap(({ letter }) => letter ?? []), flags.HELP_OPTION.letter],
  };
}

/**
 * How options are written that have a value, and those that have none. Of all commands at once: which one is called is not known before options
 * that may stand anywhere are taken out.
 */
export function optionsOfAllCommands(): { readonly withValue: ReadonlySet<string>; readonly withoutValue: ReadonlySet<string> } {
  const withValue = new Set<string>();
  const withoutValue = new Set<string>();
  const add = (target: RoutingTarget): void => {
    if (!("parameters" in target)) {
      for (const entry of target.getAllEntries()) add(entry.target);
      return;
    }
    const { flags = {}, aliases = {} } = target.parameters;
    const spellings = [
      ...Object.keys(flags).flatMap((name) => [[name, `--${name}`] as const, [name, `--${toKebab(name)}`] as const]),
      ...Object.entries(aliases).map(([letter, name]) => [name, `-${letter}`] as const),
    ];
    for (const [name, written] of spellings) (flags[name]?.kind === "boolean" ? withoutValue : withValue).add(written);
  };
  add(buildRoot(""));
  return { withValue, withoutValue };
}

/** Builds the application. @param name what it was called as @param command the one that is called */
export function buildCli(name: string, command: NamedCommand): Application<CliContext> {
  return buildApplication(buildRoot(name), {
    name,
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true, distanceOptions: DISTANCE },
    documentation: { caseStyle: "convert-camel-to-kebab", useAliasInUsageLine: true },
    completion: { includeAliases: false },
    localization: {
      text: {
        ...text_en,
        exceptionWhileParsingArguments: (thrown) => `${name}: ${toArgumentFault(thrown, command)}`,
        noCommandRegisteredForInput: ({ input, corrections }) => {
          const [, early] = EARLY_OPTION.exec(input) ?? [];
          if (early !== undefined) return `${name}: read option ${quote(early)}: there is no command behind it`;
          if (input.startsWith("-")) return `${name}: ${toStrayFault(input, command, "there is none before a command")}`;
          // Of a letter each short word is near.
          const isHint = corrections.length > 0 && input.length > 1 && commandMeantBy([input]) === undefined;
          return `${name}: find command ${quote(input)}: there is none${isHint ? `, did you mean ${toChoice(corrections.map((one) => one.replaceAll("`", '"')))}?` : ""}`;
        },
      },
    },
  });
}
