import { describe, expect, test } from "bun:test";
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { distFolder } from "../support/programs/cni.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { share } from "../support/share.ts";
import { poolYaml } from "../support/cli/documents.ts";
import { startOnTerminal } from "../support/programs/terminal.ts";

/** What only the built program shows: bundling, streams, terminals. */
const netplugctl = join(distFolder, "netplugctl");

let env: Record<string, string | undefined>;
share(
  () => startEtcd(),
  ({ endpoint }) => {
    env = { PATH: `${distFolder}:${process.env["PATH"] ?? ""}`, ETCD_ENDPOINTS: endpoint };
    run(["create", "-f", "-"], `${poolYaml("blue", "10.65.0.0/16")}\n${poolYaml("black", "10.66.0.0/16")}`);
  },
);

function run(argv: readonly string[], stdin = ""): { readonly status: number; readonly stdout: string; readonly stderr: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync([netplugctl, ...argv], {
    env: { ...process.env, ...env },
    stdin: Buffer.from(stdin),
    stderr: "pipe",
  });
  return { status: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

const IPAM_COMMANDS = ["show", "explain", "check", "release", "configure", "split"].map((command) => `ipam ${command}`);
const COMMANDS = "init create apply diff replace delete get patch label validate version ledger completion"
  .split(" ")
  .concat(IPAM_COMMANDS);

describe("usage", () => {
  test.each(COMMANDS)("%s --help goes to stdout and names the command", (command) => {
    for (const help of ["--help", "-h"]) {
      const { status, stdout, stderr } = run([...command.split(" "), help]);
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toContain(`USAGE\n  netplugctl ${command}`);
    }
  });

  test("help of the program names every command", () => {
    const { status, stdout } = run(["--help"]);
    expect(status).toBe(0);
    for (const command of COMMANDS)
      expect(stdout).toContain(`netplugctl ${command.startsWith("ipam") ? "ipam show|explain|check|" : command}`);
  });

  test("help of the program says where it looks for the datastore, and what says otherwise", () => {
    const { stdout } = run(["--help"]);
    expect(stdout).toContain("It works on etcd at http://127.0.0.1:2379, unless options, environment or file say otherwise:");
    for (const word of ["ETCD_ENDPOINTS", "ETCD_CA_CERT_FILE", "DATASTORE_TYPE=kubernetes"]) expect(stdout).toContain(word);
    const plugin = Bun.spawnSync([join(distFolder, "kubectl-netplug"), "--help"]);
    expect(plugin.stdout.toString()).toContain("It works on the Kubernetes API of the current context, unless");
  });

  test("help of release says what becomes of the workload", () => {
    expect(run(["ipam", "release", "--help"]).stdout).toContain("A workload that runs is not stopped and goes on using it.");
  });

  test("help of a command that takes kinds names them, and has examples", () => {
    for (const command of ["get", "delete", "patch", "label"])
      expect(run([command, "--help"]).stdout).toMatch(/ippools +ipp, ipps, pool, pools\n(.*\n)*Examples:\n  netplugctl /);
  });

  test("help of a command that writes names no kind that only the system writes, and says that a name is wanted", () => {
    expect(run(["get", "--help"]).stdout).toMatch(/^ {2}ipamblocks +block, blocks$/m);
    for (const command of ["delete", "patch", "label"]) {
      const { stdout } = run([command, "--help"]);
      expect(stdout).not.toContain("ipamblocks");
      expect(stdout).toMatch(/^ {2}KIND NAME( \(KEY=VALUE\|KEY-\))?\.\.\. /m);
    }
  });

  test("help of ipam release and ipam split says that one of two options must be given", () => {
    for (const command of ["release", "split"]) expect(run(["ipam", command, "--help"]).stdout).toContain("Give either --");
  });

  test("as a plugin of kubectl, help names kubectl everywhere", () => {
    const { stdout } = Bun.spawnSync([join(distFolder, "kubectl-netplug"), "get", "--help"]);
    expect(stdout.toString()).toContain("Examples:\n  kubectl netplug get ippools -o wide\n");
    expect(stdout.toString()).not.toContain("netplugctl");
  });

  test.each([
    [["bogus"], 'find command "bogus": there is none', "--help"],
    [["ipam", "bogus"], 'find command "bogus": there is none', "ipam --help"],
    [["get", "--bogus", "ipp"], 'read option "--bogus": there is none', "get --help"],
    [["get", "--allnamespaces", "wep"], 'read option "--allnamespaces": there is none, did you mean --all-namespaces?', "get --help"],
    [["ipam", "show", "--show-block"], 'read option "--show-block": there is none, did you mean --show-blocks?', "ipam show --help"],
    [
      ["ipam", "show", "--show-config"],
      'read option "--show-config": there is none, did you mean --show-configuration?',
      "ipam show --help",
    ],
    [["ipam", "show", "--show"], 'read option "--show": there is none\n', "ipam show --help"],
    [["get", "--all", "wep"], 'read option "--all": there is none, did you mean --all-namespaces?', "get --help"],
    [["apply", "-f", "pools.yaml", "--dry-run=server"], 'read option "--dry-run": there is none\n', "diff -f FILE"],
    [["create", "--dry-run", "-f", "pools.yaml"], 'read option "--dry-run": there is none\n', "diff -f FILE"],
    [["get", "-x", "ipp"], 'read option "-x": there is none', "get --help"],
    [["get", "-o", "xml", "ipp"], 'read option "--output": got "xml", want json, yaml, wide, name or custom-columns', "get --help"],
    [["create"], 'read option "--filename": got none, want it with a value', "create --help"],
    [["apply", "--f", "pools.yaml"], 'read option "--f": there is none, did you mean --filename?', "apply --help"],
    [["apply", "--f=pools.yaml"], 'read option "--f": there is none, did you mean --filename?', "apply --help"],
    [["init", "--x"], 'read option "--x": there is none', "init --help"],
    [["init", "now"], 'read arguments: got "now", want options only', "init --help"],
    [["completion", "bash", "zsh"], 'read arguments: got "zsh", want no more than 1', "completion --help"],
    [["-v"], 'read option "-v": there is none before a command\n', "--version"],
    [["-o", "json", "get", "ipp"], 'read option "-o": there is none before a command\n', "--help"],
    [["create", "pools.yaml"], 'read arguments: got "pools.yaml", want options only', "create -f pools.yaml"],
    [["ipam", "show", "10.65.0.7"], 'read arguments: got "10.65.0.7", want options only', "ipam show --ip=10.65.0.7"],
    [["ipam", "release", "fd00::7"], 'read arguments: got "fd00::7", want options only', "ipam release --ip=fd00::7"],
    [["ipam", "show", "--show-blocks", "--show-borrowed"], "read options: got several of --ip, --show-blocks", "ipam show --help"],
    [["ledger", "--verb", "GET"], 'read option "--verb": got "GET", want ADD or DEL', "ledger --help"],
    [["patch", "ipp", "blue", "-p", ""], 'read option "--patch": got nothing, want JSON or YAML\n', "patch --help"],
    [["patch", "ipp", "blue", "-p", "{"], 'read option "--patch": line 1, column 2: ', "patch --help"],
    [["get", "ipp/"], 'read argument "ipp/": want KIND/NAME\n', "get --help"],
    [["get", "ipp/blue", "red"], 'read argument "red": want KIND/NAME, like the first one\n', "get --help"],
    [["get", "ipp", "-o", "custom-columns=A:"], 'read custom-columns: got "A:", want a path such as .metadata.name', "get --help"],
    [["get", "ipp", "--output="], 'read option "--output": got "", want json, yaml, wide, name or custom-columns', "get --help"],
    [["get", "ipp", "-o="], 'read option "--output": got "", want json, yaml, wide, name or custom-columns', "get --help"],
    [
      ["delete", "wep", "a", "--namespace="],
      'read option "--namespace": got "", want a DNS name in lower case: letters, digits, `-` and `.`, at most 253\n',
      "delete --help",
    ],
    [["ipam", "show", "--ip="], 'read option "--ip": parse address: got ""', "ipam show --help"],
    [["ipam", "split"], "read arguments: N is missing", "ipam split --help"],
    [["ipam", "release", "--ip=10.0.0.1", "--ip=10.0.0.2"], 'read option "--ip": got it twice, want it once', "ipam release --help"],
    [["ipam", "show", "--ip=10.0.0"], 'read option "--ip": parse address: got "10.0.0"', "ipam show --help"],
    [["patch", "ipp", "a", "-p", "{}", "--type", "xx"], 'read option "--type": got "xx", want strategic, merge or json', "patch --help"],
    [["get", "foo"], 'find kind "foo": there is none; kinds are ippools, ', "get --help"],
    [["get", "ippol"], 'find kind "ippol": there is none, did you mean ippool? kinds are ', "get --help"],
    [["gte"], 'find command "gte": there is none, did you mean "get"?', "--help"],
    [["-n", "shop", "version"], 'read option "-n": there is none', "version --help"],
    [["describe", "ipp", "blue"], 'find command "describe": there is none\n', "get ipp blue -o yaml"],
    [["edit"], 'find command "edit": there is none\n', `patch KIND NAME -p '{"spec":{"disabled":true}}'`],
    [["node", "status"], 'find command "node": there is none\n', "get nodes -o wide"],
    [["--config", "/dev/null", "ipam", "list"], 'find command "list": there is none\n', "--config /dev/null ipam show"],
    [["get", "pods"], 'find kind "pods": there is none, did you mean workloadendpoints? kinds are ', "get --help"],
    [["delete", "ipp,ipr", "a"], 'read argument "ipp,ipr": want one kind; several in one command as KIND/NAME KIND/NAME', "delete --help"],
    [["get", "ipp,ipr", ".."], 'read arguments: got the name "..", which no object can have', "get --help"],
    [["get", "ipp,"], 'find kind "": there is none; kinds are ', "get --help"],
    [
      ["ipam", "adopt", "--node=n1", "--run-dir=run"],
      'read option "--run-dir": got "run", want a path that begins with "/"',
      "ipam adopt --help",
    ],
    [["completion", "tcsh"], 'make completion for "tcsh": want bash, zsh or fish', "completion --help"],
  ])("%j is wrong usage: %p", (argv, message, next) => {
    const { status, stdout, stderr } = run(argv);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toStartWith(`netplugctl: ${message}`);
    expect(stderr).toEndWith(`\nnext: netplugctl ${next}\n`);
    expect(stderr.split("\n")).toHaveLength(3);
  });
});

describe("streams", () => {
  test("a log that comes through a pipe is read to its end, and one that never ends is refused", () => {
    const entry = {
      time: "2026-11-21T16:00:01.000Z",
      level: "info",
      msg: "ledger",
      containerID: "c1",
      verb: "ADD",
      ifName: "eth0",
      network: "net",
    };
    const line = JSON.stringify({ ...entry, code: 0, totalMs: 10, roundTrips: 2, retries: 0, phaseMs: {}, phaseStartMs: {} });
    const read = (command: string, stdin = "") => {
      const { exitCode, stdout, stderr } = Bun.spawnSync(["bash", "-c", command], {
        env: { ...process.env, ...env },
        stdin: Buffer.from(stdin),
        stderr: "pipe",
        timeout: 60_000,
      });
      return [exitCode, stdout.toString(), stderr.toString()];
    };
    const shown = [0, expect.stringContaining("16:00:01.000Z   ADD "), ""];
    expect(read("cat | netplugctl ledger --file /dev/stdin", `${line}\n`)).toEqual(shown);
    expect(read("netplugctl ledger --file <(cat)", `${line}\n`)).toEqual(shown);
    const none = 'no entries in "/dev/null"; the plugin writes them with "log_level" INFO or DEBUG\n';
    expect(read("netplugctl ledger --file /dev/null")).toEqual([0, "", none]);
    expect(read("netplugctl ledger --file /dev/zero")).toEqual([1, "", expect.stringContaining("it is larger than 67108864 bytes")]);
  });

  test("a log that may not be read is told in one line", () => {
    const folder = mkdtempSync(join(tmpdir(), "netplug-cli-"));
    try {
      // Only root reads it; "nobody" may come as far as to it.
      chmodSync(folder, 0o755);
      const file = join(folder, "cni.log");
      writeFileSync(file, "", { mode: 0o600 });
      const { exitCode, stderr } = Bun.spawnSync([netplugctl, "ledger", "--file", file], {
        env: { ...process.env, ...env },
        uid: 65_534,
        gid: 65_534,
        stderr: "pipe",
      });
      expect([exitCode, stderr.toString()]).toEqual([
        1,
        expect.stringMatching(/^netplugctl: read log "[^"]+": EACCES \(permission denied\)\n$/),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // `version` writes before it asks the datastore, and again afterwards; `get -o json` here more than a buffer holds, in one piece.
  test.each<{ readonly argv: readonly string[]; readonly status?: number }>([
    { argv: ["get", "ipp"] },
    { argv: ["version"] },
    { argv: ["get", "ipp", "-o", "json"] },
    // 1 would say that the whole difference is there
    { argv: ["diff", "-f", "-"], status: 2 },
    { argv: ["-n", "default", "diff", "-f", "-"], status: 2 },
  ])("stdout that cannot be written fails $argv, in one line", ({ argv, status = 1 }) => {
    const change = JSON.stringify({ metadata: { annotations: { long: argv.includes("json") ? "x".repeat(100_000) : null } } });
    expect(run(["patch", "ipp", "blue", "-p", change]).status).toBe(0);
    const full = openSync("/dev/full", "w");
    try {
      const { exitCode, stderr } = Bun.spawnSync([netplugctl, ...argv], {
        env: { ...process.env, ...env },
        stdin: Buffer.from(poolYaml("new", "10.99.0.0/24")),
        stdout: full,
        stderr: "pipe",
      });
      expect([exitCode, stderr.toString()]).toEqual([status, expect.stringMatching(/^netplugctl: write output: ENOSPC[^\n]*\n$/)]);
    } finally {
      closeSync(full);
    }
  });

  test("stdout that is closed fails what would write there, in one line; /dev/null is what a caller wants who opens it", () => {
    const said = "netplugctl: write output: stdout is closed, want it open; /dev/null if nobody reads it\n";
    const streams = (line: string) => {
      const { exitCode, stderr } = Bun.spawnSync(["bash", "-c", `netplugctl ${line}`], { env: { ...process.env, ...env }, stderr: "pipe" });
      return [exitCode, stderr.toString()];
    };
    for (const line of ["get ipp >&-", "get ipp -o json >&-", "get --help >&-", "version >&- <&-", "ipam check >&-"])
      expect([line, ...streams(line)]).toEqual([line, 1, said]);
    for (const line of ["delete ipp nope --ignore-not-found >&-", "get ipp >/dev/null", "get ipp 1<>/dev/null", "get ipp <&-"])
      expect([line, ...streams(line)]).toEqual([line, 0, ""]);
    expect(streams("get ipp >&- 2>&-")).toEqual([1, ""]);
    expect(streams("get nope >&-")).toEqual([2, expect.stringMatching(/^netplugctl: find kind "nope": [^\n]*\nnext: [^\n]*\n$/)]);
  });

  test("a reader that wants no more is no failure, and one that is slow gets everything", () => {
    const documents = Array.from({ length: 20_000 }, (_, i) =>
      JSON.stringify({ apiVersion: "netplug.io/v3", kind: "Node", metadata: { name: `n${i}` } }),
    );
    const script = (reader: string): string => `set -o pipefail; netplugctl validate -f - | ${reader}`;
    const through = (reader: string): { readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer } =>
      Bun.spawnSync(["bash", "-c", script(reader)], {
        env: { ...process.env, ...env },
        stdin: Buffer.from(documents.join("\n")),
        stderr: "pipe",
      });
    const closed = through("head -n 1");
    expect([closed.exitCode, closed.stdout.toString(), closed.stderr.toString()]).toEqual([0, "node/n0 valid\n", ""]);
    expect(through("(sleep 0.2; wc -l)").stdout.toString().trim()).toBe("20000");
  });

  test("stdin gives documents, also when it is empty or closed", () => {
    expect(run(["validate", "-f", "-"], poolYaml("a", "10.9.0.0/16"))).toMatchObject({ status: 0, stdout: "ippool/a valid\n" });
    expect(run(["validate", "-f", "-"])).toMatchObject({ status: 1, stderr: expect.stringContaining("read stdin: got no object") });
  });

  test("a pipe is waited for, and one that does not end is not", () => {
    const bash = (line: string) => {
      const { stdout, stderr } = Bun.spawnSync(["bash", "-c", line], { env: { ...process.env, ...env }, stderr: "pipe" });
      return [stdout.toString(), stderr.toString()];
    };
    const slow = `(sleep 0.3; echo '${poolYaml("a", "10.9.0.0/16")}')`;
    for (const line of [
      `netplugctl validate -f <${slow}`,
      `${slow} | netplugctl validate -f /dev/stdin`,
      `${slow} | netplugctl validate -f -`,
    ])
      expect(bash(line)).toEqual(["ippool/a valid\n", ""]);
    for (const line of ["yes | netplugctl validate -f -", "netplugctl validate -f <(yes)"])
      expect(bash(line)).toEqual(["", expect.stringContaining("got more than 16777216 bytes, want fewer")]);
  });

  test("an input over the limit is refused whole, also where its characters are fewer than its bytes", () => {
    const folder = mkdtempSync(join(tmpdir(), "npgt-cli-"));
    try {
      const file = join(folder, "big.yaml");
      const notes = `# ${"ä".repeat(60)}\n`.repeat(140_000); // 17 MB, 9 million characters
      writeFileSync(file, `${poolYaml("first", "10.67.0.0/16")}\n---\n${notes}---\n${poolYaml("last", "10.68.0.0/16")}\n`);
      for (const line of [
        `cat ${file} | netplugctl apply -f -`,
        `netplugctl apply -f - <${file}`,
        `netplugctl apply -f <(cat ${file})`,
        `cat ${file} | netplugctl apply -f /dev/stdin`,
        `netplugctl apply -f ${file}`,
      ]) {
        const { exitCode, stdout, stderr } = Bun.spawnSync(["bash", "-c", line], { env: { ...process.env, ...env }, stderr: "pipe" });
        expect([line, exitCode, stdout.toString()]).toEqual([line, 1, ""]);
        expect(stderr.toString()).toMatch(/^netplugctl: read (stdin|"\/[^"]+"): got more than 16777216 bytes, want fewer\n$/);
      }
      expect(run(["get", "ippools", "-o", "name"]).stdout).not.toMatch(/first|last/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s ends the program too that gives credentials, and that we wait for",
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), "npgt-cli-"));
    try {
      const [plugin, pidFile, kubeconfig] = ["plugin", "pid", "kubeconfig"].map((name) => join(folder, name)) as [string, string, string];
      writeFileSync(plugin, `#!/bin/sh\necho $$ > ${pidFile}.new && mv ${pidFile}.new ${pidFile}\nexec sleep 30\n`, { mode: 0o755 });
      const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, interactiveMode: "Never" };
      const config = {
        clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:1" } }],
        users: [{ name: "u", user: { exec } }],
        contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
        "current-context": "c",
      };
      writeFileSync(kubeconfig, JSON.stringify(config));
      const child = Bun.spawn([netplugctl, "--kubeconfig", kubeconfig, "get", "ipp"], {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      });
      // the file is empty for a moment
      while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "") await Bun.sleep(1);
      const pid = Number(readFileSync(pidFile, "utf8"));
      child.kill(signal);
      await child.exited;
      expect(child.signalCode).toBe(signal);
      // It was killed before we ended; the kernel may need a moment for it.
      const isAlive = (): boolean => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
      for (const end = performance.now() + 30_000; isAlive() && performance.now() < end;) await Bun.sleep(1);
      expect(isAlive()).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test("a proxy that the environment names is asked for Kubernetes, and named where it does not answer", () => {
  // A name that only a proxy could know.
  const kubernetes = { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: "https://api.invalid:6443", K8S_API_TOKEN: "t" };
  const more = { ...kubernetes, ETCD_ENDPOINTS: undefined, HTTPS_PROXY: "http://127.0.0.1:1" };
  const { stderr } = Bun.spawnSync([netplugctl, "ipam", "show"], { env: { ...env, ...more }, stderr: "pipe" });
  expect(stderr.toString()).toContain("https://api.invalid:6443, perhaps by the proxy of HTTPS_PROXY: connection refused\n");
});

describe("colour", () => {
  const onTerminal = async (argv: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> => {
    await using session = startOnTerminal([netplugctl, ...argv], { ...env, NO_COLOR: undefined, ...more });
    await session.ended();
    return await session.shows(/\n/);
  };

  test("is for terminals only", async () => {
    expect(await onTerminal(["get", "ipp"])).toContain("\x1b[1mNAME");
    expect(await onTerminal(["get", "ipp", "nope"])).toContain('\x1b[31mnetplugctl: find ippool "nope": there is none\x1b[39m');
    expect(run(["get", "ipp"]).stdout).toStartWith("NAME");
  });

  test.each([{ NO_COLOR: "1" }, { TERM: "dumb" }])("is left out with %j", async (more) => {
    expect(await onTerminal(["get", "ipp"], more)).toStartWith("NAME");
  });
});

test.each([
  { argv: ["get", "ippools"], status: 1 },
  { argv: ["diff", "-f", "-"], status: 2 },
])("a shell that gives it too little memory for the C library is told so in one line: $argv", ({ argv, status }) => {
  const KIB_PER_GIB = 2 ** 20;
  const limited = Bun.spawnSync(["sh", "-c", `ulimit -v ${KIB_PER_GIB}; exec "$0" "$@"`, netplugctl, ...argv], {
    env: { ...process.env, ...env },
    stderr: "pipe",
  });
  expect([limited.exitCode, limited.stdout.toString(), limited.stderr.toString()]).toEqual([
    status,
    "",
    expect.stringMatching(/^netplugctl: load C library .*requires the JIT.*LimitAS.*\n$/),
  ]);
});

test.each(["install", "container-hosts", "node-requirements"])("the executable needs no newer C library than docs/%s.md says", (name) => {
  const promised = Number(/glibc 2\.(\d+)/.exec(new ShownDocument(`docs/${name}.md`).text)?.[1]);
  // its table of strings has the versions of all functions that the runtime is linked to
  const needed = [...readFileSync(netplugctl, "latin1").matchAll(/\0GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  expect(needed).not.toEqual([]);
  expect(Math.max(...needed)).toBeLessThanOrEqual(promised);
});
