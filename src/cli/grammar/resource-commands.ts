/** The commands about objects, as data. */

import { buildCommand, type Command } from "@stricli/core";
import type { CreateFlags } from "../commands/create.ts";
import type { DeleteFlags } from "../commands/delete.ts";
import type { GetFlags } from "../commands/get-asked.ts";
import type { LabelFlags } from "../commands/label.ts";
import type { PatchFlags } from "../commands/patch.ts";
import type { DocumentFlags } from "../documents/documents.ts";
import { type CliContext, runs, shows } from "./context.ts";
import * as flags from "./flags.ts";
import { PATCH_TYPES } from "../patch/apply.ts";
import { describeKinds, type KindUse } from "../arguments/kind-names.ts";

/** Words that name objects, with proposals for kinds and names. */
function objectWords(placeholder: string, brief: string) {
  return {
    kind: "array",
    parameter: {
      brief,
      placeholder,
      parse: String,
      proposeCompletions(this: CliContext, partial: string) {
        return this.propose.objects(partial);
      },
    },
  } as const;
}

const objects = objectWords("KIND [NAME]", "kind (singular, plural or short name) and names, KIND,KIND, or KIND/NAME");
const namedObjects = objectWords("KIND NAME", "kind (singular, plural or short name) and names, or KIND/NAME");
const oneObject = objectWords("KIND NAME", "kind (singular, plural or short name) and name, or KIND/NAME");
const objectAndLabels = objectWords("KIND NAME (KEY=VALUE|KEY-)", "kind and name, then KEY=VALUE to set or KEY- to remove");

/** Help of a command that shows or writes objects of kinds. @param examples without the program's name */
function withKinds(program: string, use: KindUse, brief: string, examples: readonly string[]) {
  const lines = examples.map((example) => `  ${program} ${example}`);
  return {
    brief,
    fullDescription: [brief, "", "Kinds and their short names:", describeKinds(use), "", "Examples:", ...lines].join("\n"),
  };
}

const inputFlags = { filename: flags.filenames, namespace: flags.namespace };
const inputAliases = { f: "filename", n: "namespace" } as const;

const create = buildCommand<CreateFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/create.ts")).create),
  parameters: {
    flags: { ...inputFlags, skipExists: flags.withoutValue("leave what exists as it is") },
    aliases: inputAliases,
  },
  docs: { brief: "create objects from a file" },
});

const apply = buildCommand<DocumentFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/create.ts")).apply),
  parameters: { flags: inputFlags, aliases: inputAliases },
  docs: { brief: "create objects, or make existing ones like them" },
});

const diff = buildCommand<DocumentFlags, [], CliContext>({
  loader: shows(async () => (await import("../commands/diff.ts")).diff),
  parameters: { flags: inputFlags, aliases: inputAliases },
  docs: {
    brief: "show what apply would change",
    fullDescription: [
      "show what apply would change, and change nothing",
      "",
      "Exit status: 0 nothing would change, 1 something would, 2 refused, failed or wrong usage.",
    ].join("\n"),
  },
});

const replace = buildCommand<DocumentFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/create.ts")).replace),
  parameters: { flags: inputFlags, aliases: inputAliases },
  docs: { brief: "make existing objects like those of a file" },
});

const validate = buildCommand<DocumentFlags, [], CliContext>({
  loader: runs(async () => (await import("../commands/validate.ts")).validate),
  parameters: { flags: { ...inputFlags, namespace: flags.namespaceUnasked }, aliases: inputAliases },
  docs: { brief: "check a file without a datastore" },
});

const remove = (program: string) =>
  buildCommand<DeleteFlags, string[], CliContext>({
    loader: runs(async () => (await import("../commands/delete.ts")).remove),
    parameters: {
      flags: {
        filename: flags.optionalFilenames,
        namespace: flags.namespace,
        ignoreNotFound: flags.withoutValue("what does not exist is no failure"),
      },
      aliases: inputAliases,
      positional: namedObjects,
    },
    docs: withKinds(program, "written", "delete objects; workloads keep the addresses of a deleted pool", [
      "delete ippool blue",
      "delete -f pools.yaml",
    ]),
  });

const get = (program: string) =>
  buildCommand<GetFlags, string[], CliContext>({
    loader: shows(async () => (await import("../commands/get.ts")).get),
    parameters: {
      flags: {
        filename: flags.optionalFilenames,
        namespace: flags.namespace,
        allNamespaces: flags.allNamespaces,
        selector: flags.selector,
        output: flags.output,
        showLabels: flags.withoutValue("a column with the labels"),
        noHeaders: flags.withoutValue("a table without its first line"),
        watch: flags.withoutValue("then every change, until it is interrupted; of one kind"),
      },
      aliases: { ...inputAliases, A: "allNamespaces", l: "selector", o: "output", w: "watch" },
      positional: objects,
    },
    docs: withKinds(program, "shown", "show objects", [
      "get ippools -o wide",
      "get workloadendpoints -A",
      "get workloadendpoints -A --watch",
      "get nodes -l rack=r2,tier!=db,'!gpu' --show-labels",
      "get nodes -l 'zone in (a,b),tier notin (db)'",
      "get ippool blue -o yaml",
      "get ippools -o custom-columns=NAME:.metadata.name,CIDR:.spec.cidr",
    ]),
  });

const PATCH_USAGE = `-p JSON [--type ${PATCH_TYPES.join("|")}] [-n NAMESPACE] KIND NAME`;

const patch = (program: string) =>
  buildCommand<PatchFlags, string[], CliContext>({
    loader: runs(async () => (await import("../commands/patch.ts")).patch),
    parameters: {
      flags: {
        patch: { kind: "parsed", parse: String, brief: "what to change, as JSON or YAML", placeholder: "JSON" },
        type: { kind: "enum", values: PATCH_TYPES, default: "strategic", brief: "how the patch is merged; json: a list of operations" },
        namespace: flags.namespace,
      },
      aliases: { p: "patch", n: "namespace" },
      positional: oneObject,
    },
    docs: {
      ...withKinds(program, "written", "change some fields of an object", [`patch ippool blue -p '{"spec":{"disabled":true}}'`]),
      customUsage: [PATCH_USAGE],
    },
  });

const LABEL_USAGE = "[-n NAMESPACE] [--overwrite] KIND NAME (KEY=VALUE|KEY-)...";

const label = (program: string) =>
  buildCommand<LabelFlags, string[], CliContext>({
    loader: runs(async () => (await import("../commands/label.ts")).label),
    parameters: {
      flags: {
        namespace: flags.namespace,
        overwrite: flags.withoutValue("also change labels that have another value"),
      },
      aliases: { n: "namespace" },
      positional: objectAndLabels,
    },
    docs: {
      ...withKinds(program, "written", "set and remove labels of an object", ["label node n1 rack=r2", "label node n1 rack-"]),
      customUsage: [LABEL_USAGE],
    },
  });

/** In the list of all commands the parser of commands shows otherwise what it makes of the parameters: several words are several objects there. */
function listedWith(usage: string, command: Command<CliContext>): Command<CliContext> {
  return { ...command, formatUsageLine: ({ prefix }) => [...prefix, usage].join(" ") };
}

/** By the word that calls them. @param program what a person types to call it, for examples */
export function resourceCommands(program: string) {
  return {
    create,
    apply,
    diff,
    replace,
    delete: remove(program),
    get: get(program),
    patch: listedWith(PATCH_USAGE, patch(program)),
    label: listedWith(LABEL_USAGE, label(program)),
    validate,
  };
}
