/** The repository's commands: what each needs, and the module that does it. Started by `tools/run.mjs`. */

import { ensureSystemTools, requireRoot } from "./prerequisites/ensure.ts";
import type { SystemToolName } from "./prerequisites/system-tools.ts";
import { bold, red, say, TaskFailure } from "./terminal.ts";

interface Task {
  readonly summary: string;
  readonly needsRoot: boolean;
  readonly tools: readonly SystemToolName[];
  /** What `-- --help` shows below the summary: a line for each way to call it. */
  readonly usage: () => Promise<string>;
  /** @returns the exit status */
  readonly run: (args: readonly string[]) => Promise<number>;
}

const TASKS: Readonly<Record<string, Task>> = {
  demo: {
    summary: "the main job for real: etcd, two pods, traffic, and nothing left behind",
    needsRoot: true,
    tools: ["etcd", "etcdctl", "ip", "ping"],
    usage: async () =>
      ["npm run demo", "npm run demo -- --keep    leaves everything for you to look at, and says how to remove it"].join("\n"),
    run: async (args) => (await import("./demo/main.ts")).runDemo(args),
  },
  test: {
    summary: "the whole suite, or the parts named (unit, kernel, …)",
    needsRoot: false,
    tools: [],
    usage: async () => (await import("./test/usage.ts")).testUsage(),
    run: async (args) => (await import("./test/main.ts")).runTests(args),
  },
  cluster: {
    summary: "a real Kubernetes cluster to play with, until Ctrl-C",
    needsRoot: true,
    tools: ["ip", "nsenter", "openssl", "runc", "busybox", "iptables", "nft"],
    usage: async () => (await import("./cluster/order.ts")).CLUSTER_USAGE,
    run: async (args) => (await import("./cluster/main.ts")).runCluster(args),
  },
  build: {
    summary: "dist/netplug and its other names",
    needsRoot: false,
    tools: [],
    usage: async () => ["npm run build              does nothing when nothing has changed", "npm run build -- --force"].join("\n"),
    run: async (args) => (await import("./build.ts")).runBuild(args),
  },
  bench: {
    summary: "how fast and how small, as a table and as JSON",
    needsRoot: true,
    tools: ["etcd", "etcdctl", "openssl", "ip", "nsenter", "cni-plugins", "runc", "busybox", "iptables"],
    usage: async () => ["npm run bench", "npm run bench -- ROUNDS    of each measurement, 100 unless told otherwise"].join("\n"),
    run: async (args) => (await import("./bench.ts")).runBench(args),
  },
  check: {
    summary: "format, lint, types, architecture, dead code, generated files, or those named",
    needsRoot: false,
    tools: [],
    usage: async () => (await import("./check/main.ts")).CHECK_USAGE,
    run: async (args) => (await import("./check/main.ts")).runCheck(args),
  },
  fmt: {
    summary: "formats the source, or the files named",
    needsRoot: false,
    tools: [],
    usage: async () => ["npm run fmt", "npm run fmt -- FILE…"].join("\n"),
    run: async (args) => (await import("./check/format.ts")).runFormat(args),
  },
  generate: {
    summary: "writes the generated documents",
    needsRoot: false,
    tools: [],
    usage: async () => "npm run generate",
    run: async (args) => (await import("./generate/main.ts")).runGenerate(args),
  },
};

function usage(): string {
  const lines = Object.entries(TASKS).map(([name, task]) => `  npm run ${name.padEnd(10)} ${task.summary}`);
  return [bold("netplug's commands"), ...lines, "What one of them takes: npm run NAME -- --help"].join("\n");
}

function asksForHelp(word: string): boolean {
  return word === "--help" || word === "-h" || word === "help";
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  const task = name === undefined ? undefined : TASKS[name];
  if (task === undefined) {
    if (name !== undefined && !asksForHelp(name)) say(`${red("netplug:")} there is no command "${name}"`);
    say(usage());
    return name === undefined || asksForHelp(name) ? 0 : 2;
  }
  if (rest.some(asksForHelp)) {
    console.log(`${task.summary}\n\n${await task.usage()}`);
    return 0;
  }
  if (task.needsRoot) requireRoot(name ?? "");
  ensureSystemTools(task.tools);
  return task.run(rest);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  if (!(thrown instanceof TaskFailure)) throw thrown;
  say(`${red("netplug:")} ${thrown.message}`);
  process.exitCode = 1;
}
