/** Commands and kinds of `kubectl` and of other networks' tools, and what does the same here. */

import { isNodeName } from "../../endpoint/names.ts";
import { tryParseAddress } from "../../lib/ip/address.ts";
import { LOCK, UNLOCK } from "../failures/suggested-commands.ts";

/** Where a proposed command takes over the words that follow. */
const OBJECT = "KIND NAME";

const DISABLE = `patch ${OBJECT} -p '{"spec":{"disabled":true}}'`;

/** Words that are no command of ours, and the command that was most likely meant; both without the program's name. */
const COMMANDS: ReadonlyMap<string, string> = new Map([
  ["api-resources", "get --help"],
  ["describe", `get ${OBJECT} -o yaml`],
  ["edit", DISABLE],
  ["set", DISABLE],
  ["explain", "get --help"],
  ["list", `get ${OBJECT}`],
  ["ls", `get ${OBJECT}`],
  ["rm", `delete ${OBJECT}`],
  ["remove", `delete ${OBJECT}`],
  ["logs", "ledger"],
  ["status", "version"],
  ["cluster", "version"],
  ["-v", "--version"],
  ["-V", "--version"],
  ["-version", "--version"],
  ["show", "ipam show"],
  ["check", "ipam check"],
  ["release", "ipam release --help"],
  ["configure", "ipam configure --help"],
  ["split", "ipam split --help"],
  ["adopt", "ipam adopt --help"],
  ["node", "get nodes -o wide"],
  ["endpoint", "get workloadendpoints -A"],
  ["datastore", LOCK],
  ["datastore unlock", UNLOCK],
  ["datastore migrate unlock", UNLOCK],
  ["datastore migrate export", "get ippools,ipreservations,ipamconfigurations -o yaml"],
  ["datastore migrate import", "apply -f FILE"],
  ["ipam list", "ipam show"],
  ["ipam ls", "ipam show"],
  ["ipam status", "ipam show"],
]);

/** How many words behind those that name no command may tell what was meant. */
const FURTHER_WORDS = 2;

/** Commands whose file follows `-f`. */
const FILE_COMMANDS: ReadonlySet<string> = new Set(["create", "apply", "diff", "replace", "validate"]);

/** Commands whose address follows `--ip`. */
const ADDRESS_COMMANDS: ReadonlySet<string> = new Set(["ipam show", "ipam release"]);

/** Commands whose node follows `--node`. */
const NODE_COMMANDS: ReadonlySet<string> = new Set(["ipam explain", "ipam adopt"]);

/** Kinds of other tools, and our kind for each. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["po", "workloadendpoints"],
  ["pod", "workloadendpoints"],
  ["pods", "workloadendpoints"],
  ["ep", "workloadendpoints"],
  ["endpoint", "workloadendpoints"],
  ["endpoints", "workloadendpoints"],
  ["blockaffinity", "ipamblocks"],
  ["blockaffinities", "ipamblocks"],
]);

/**
 * The command of ours that was most likely meant by words that name no command.
 *
 * @param words those that name a command, and the one behind them
 * @param following what comes after these
 */
export function commandMeantBy(words: readonly string[], following: readonly string[] = []): string | undefined {
  const [argument = ""] = words.slice(-1);
  const command = words.slice(0, -1).join(" ");
  if (FILE_COMMANDS.has(command) && [argument, ...following].some(isDryRun)) return "diff -f FILE";
  if (command === "patch" && [argument, ...following].some(isPatchFile)) return `patch ${OBJECT} -p "$(cat FILE)"`;
  if (FILE_COMMANDS.has(command)) {
    // What a shell makes of `-f *.yaml`: one option, and files without theirs.
    const files = [argument, ...following].filter((word) => word !== "-f" && word !== "--filename");
    if (files.length > 0 && files.every(isFile)) return [command, ...files.map((file) => `-f ${file}`)].join(" ");
    if (isFile(argument)) return `${command} -f ${argument}`;
  }
  if (isPlain(argument)) {
    if (command === "ipam explain" && isManifest(argument)) return `${command} -f ${argument}`;
    if (ADDRESS_COMMANDS.has(command) && tryParseAddress(argument) !== undefined) return `${command} --ip=${argument}`;
    // Whoever types `help` behind a command does not mean a node.
    if (NODE_COMMANDS.has(command) && argument !== "help" && isNodeName(argument)) return `${command} --node=${argument}`;
  }
  const further = following.filter((word) => !word.startsWith("-")).slice(0, FURTHER_WORDS);
  const meant = COMMANDS.get([...words, ...further].join(" ")) ?? COMMANDS.get(words.join(" "));
  return following.length > 0 && following.every(isOfObject) ? meant?.replace(OBJECT, following.join(" ")) : meant;
}

/** Whether a shell takes it as it is, and no command takes it for an option. */
function isPlain(word: string): boolean {
  return /^[\w.:/][\w.:/-]*$/.test(word);
}

function isFile(word: string): boolean {
  return isPlain(word) && word.includes(".");
}

/** Nodes may have names with dots, too. */
function isManifest(word: string): boolean {
  return /\.(ya?ml|json)$/.test(word);
}

/** An option of kubectl. */
function isDryRun(word: string): boolean {
  return /^--dry-run(=|$)/.test(word);
}

/** An option of kubectl. */
function isPatchFile(word: string): boolean {
  return /^--patch-file(=|$)/.test(word);
}

/** Options of other tools are not those of the proposed command, but for the namespace. */
function isOfObject(word: string): boolean {
  return word === "-n" || word === "--namespace" || isPlain(word.replace(/^--namespace=/, ""));
}

/** The plural of the kind that was most likely meant by a word that names no kind. */
export function kindMeantBy(word: string): string | undefined {
  return KINDS.get(word.toLowerCase());
}
