import { describe, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { distFolder } from "../support/programs/cni.ts";
import { endpointYaml, poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { startOnTerminal, type TerminalSession } from "../support/programs/terminal.ts";

const world = shareEtcdCliWorld(async () => {
  await world.create(poolYaml("blue", "10.65.0.0/16"), poolYaml("black", "10.66.0.0/16"), resourceYaml("Node", "n1", {}));
  await world.done(["label", "ippool", "blue", "rack=r1", "tier=web"]);
  for (const namespace of ["default", "prod"]) await world.create(endpointYaml({ containerID: namespace, node: "n1", namespace }));
});

/** The proposals for a command line whose last word is being written. */
async function proposals(line: string): Promise<readonly string[]> {
  const answer = await world.done(["__complete", ...line.split(" ")]);
  return answer
    .split("\n")
    .filter(Boolean)
    .map((proposal) => proposal.split("\t")[0] ?? "");
}

describe("proposals", () => {
  test.each([
    ["g", ["get"]],
    ["ipam s", ["show", "split"]],
    ["help g", ["get"]],
    ["help ipam s", ["show", "split"]],
    ["ipam help s", ["show", "split"]],
    ["help get i", []],
    ["get cl", ["clusterinformations"]],
    ["get ipp,tiers,ippools,ipr", ["ipp,tiers,ippools,ipreservations"]],
    ["get ipp,ippoo", []],
    ["delete ipp,ipr", []],
    ["get ipam", ["ipamconfigurations", "ipamblocks"]],
    ...["delete", "patch", "label"].map((command): [string, string[]] => [`${command} ipam`, ["ipamconfigurations"]]),
    ["get ippool bl", ["black", "blue"]],
    ["get ipp blue ", ["black"]],
    ["get ippool/b", ["ippool/black", "ippool/blue"]],
    ["delete ipp blu", ["blue"]],
    ["patch ipp blue --type m", ["merge"]],
    ["patch ipp blue bl", []],
    ["label ipp/blue bl", []],
    ["get ipp/blue ipp/", ["ipp/black"]],
    ["get ipp/blue tiers/d", ["tiers/default"]],
    ["get wep n", ["n1-cni-default-eth0"]],
    ["get wep -n prod n", ["n1-cni-prod-eth0"]],
    ["get wep --namespace=prod n", ["n1-cni-prod-eth0"]],
    ["get --namespace prod wep/n", ["wep/n1-cni-prod-eth0"]],
    ["get wep -n ", ["default", "prod"]],
    ["get wep --namespace=p", ["--namespace=prod"]],
    ["validate -n ", []],
    ["get ipamblocks 1", []],
    ["get ipamblocks -l ", []],
    ["get -l ", []],
    ["get ipp -o j", ["json"]],
    ["get ipp -oj", ["-ojson"]],
    ["get ipp -o=j", ["-o=json"]],
    ["get wep -Ao j", ["json"]],
    ["get wep -Aoj", ["-Aojson"]],
    ["get wep -wn=p", ["-wn=prod"]],
    ["get ipp --output=j", ["--output=json"]],
    ["get ipp --output=", ["json", "yaml", "wide", "name", "custom-columns="].map((format) => `--output=${format}`)],
    ["get --sel", ["--selector"]],
    ["get ipp -l ", ["rack=r1", "tier=web"]],
    ["get ipp -lrack=", ["-lrack=r1"]],
    ["get ipp --selector=rack=r1,t", ["--selector=rack=r1,tier=web"]],
    ["get ipp -l x bl", ["black", "blue"]],
    ["ipam configure --strict-affinity=t", ["--strict-affinity=true"]],
    ["ipam split 2 --name blu", ["blue"]],
    ["ipam explain --node=", ["--node=n1"]],
    ["ipam explain --ipv4-pools bl", ["black", "blue"]],
    ["ipam explain --pod ", []],
    ["ipam explain -f ", []],
    ["ipam explain --fi", ["--filename"]],
    ["ipam adopt --node n", ["n1"]],
    ["ipam show --show-b", ["--show-blocks", "--show-borrowed"]],
    ["get --con", ["--config"]],
    ["--context x get ippool blu", ["blue"]],
    ["-n prod g", ["get"]],
    ["--namespace=prod g", ["get"]],
    ["-n prod ipam s", ["show", "split"]],
    ["ipam -n prod s", ["show", "split"]],
    ["-n prod get wep n", ["n1-cni-prod-eth0"]],
    ["-n prod get wep -o j", ["json"]],
    ["-n prod get wep -Ao j", ["json"]],
    ["-n prod get wep --output=j", ["--output=json"]],
    ["-n p", ["prod"]],
    ["--namespace=p", ["--namespace=prod"]],
    ["get nope ", []],
    ["create -f ", []],
    ["completion ", ["bash", "zsh", "fish"]],
  ])("for %p are %j", async (line, wanted) => {
    expect(await proposals(line)).toEqual(line.endsWith("--con") ? expect.arrayContaining(wanted) : wanted);
  });

  test("are words only, until a flag is begun", async () => {
    expect((await proposals("get ")).filter((word) => word.startsWith("-"))).toEqual([]);
  });

  test("are those of the datastore that the file behind -c names, which they do not wait for", async () => {
    const file = world.file("config", `kind: NetplugAPIConfig\nspec: {etcdEndpoints: '${world.etcd.endpoint}'}\n`);
    const pipe = join(world.folder, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    const complete = (config: string) =>
      world.ctl(["__complete", "-c", config, "get", "ippool", "blu"], { env: { ETCD_ENDPOINTS: undefined } });
    expect((await complete(file)).stdout).toMatch(/^blue\t.*\n$/);
    expect(await complete(pipe)).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test.each(["-c", "--kubeconfig"])("leave what is in a pipe behind %s to the command that is being typed", async (option) => {
    const pipe = join(world.folder, `pipe${option}`);
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    using ends = new OpenPipe(pipe);
    ends.write("kind: NetplugAPIConfig\n");
    const env = { ETCD_ENDPOINTS: undefined };
    expect(await world.ctl(["__complete", option, pipe, "get", "ippool", ""], { env })).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(ends.read()).toBe("kind: NetplugAPIConfig\n");
  });

  test("stay away without a datastore, quickly", async () => {
    const answer = await world.ctl(["__complete", "get", "ippool", ""], { env: { ETCD_ENDPOINTS: "http://127.0.0.1:1" } });
    expect(answer).toEqual({ status: 0, stdout: "", stderr: "" });
  });
});

describe("what somebody stored by hand", () => {
  test("is proposed only as far as a shell takes it for one word", async () => {
    const put = (name: string, labels: object): Promise<string> =>
      world.etcd.ctl(["put", `/netplug/v3/tiers/${encodeURIComponent(name)}`, JSON.stringify({ metadata: { labels }, spec: {} })]);
    await put("$(reboot)", { hall: "$(reboot)" });
    await put("two words", { hall: "h2; reboot" });
    await put("plain", { hall: "h1" });
    try {
      const names = await proposals("get tiers ");
      expect([names.includes("plain"), names.filter((name) => /[^\w.-]/.test(name))]).toEqual([true, []]);
      expect(await proposals("get tiers -l hall")).toEqual(["hall=h1"]);
    } finally {
      for (const name of ["$(reboot)", "two words", "plain"])
        await world.etcd.ctl(["del", `/netplug/v3/tiers/${encodeURIComponent(name)}`]);
    }
  });
});

test("a person at the prompt is not kept waiting by a datastore that stands still, nor shown its warnings", async () => {
  const complete = () => world.ctl(["__complete", "get", "tiers", "def"], { env: { ETCD_CA_CERT_FILE: "/nowhere/ca.pem" } });
  expect(await complete()).toMatchObject({ status: 0, stdout: expect.stringMatching(/^default\t/), stderr: "" });
  await world.etcd.pause();
  try {
    const asked = performance.now();
    expect(await complete()).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(performance.now() - asked).toBeLessThan(4_000); // a request would be given five seconds
  } finally {
    world.etcd.resume();
  }
});

describe("in a shell that a person uses,", () => {
  const shells = {
    bash: { command: ["bash", "--norc", "-i"], load: "PS1='ready> '; source <(netplugctl completion bash)\n" },
    zsh: {
      command: ["zsh", "-f", "-i"],
      load: "autoload -U compinit; compinit -u -D; PROMPT='ready> '; source <(netplugctl completion zsh)\n",
    },
    fish: {
      command: ["fish", "--no-config", "-i"],
      load: "function fish_prompt; echo 'ready> '; end; netplugctl completion fish | source\n",
    },
  } as const;

  test.each(Object.keys(shells) as (keyof typeof shells)[])("%s completes words, names and values", async (shell) => {
    const { command, load } = shells[shell];
    const path = `${distFolder}:${process.env["PATH"] ?? ""}`;
    // What a shell keeps between its starts goes with the test.
    const own = { HOME: world.folder, TMPDIR: world.folder, XDG_RUNTIME_DIR: world.folder };
    await using session: TerminalSession = startOnTerminal(command, { PATH: path, ETCD_ENDPOINTS: world.etcd.endpoint, ...own });
    session.type(load);
    await session.shows(/completion (bash|zsh|fish)[^]*ready> /);
    for (const [typed, shown] of [
      ["netplugctl ipam sh", /show/],
      ["netplugctl get ippool blu", /blue/],
      ["netplugctl get ipp --output=js", /json/],
      ["netplugctl get ippool/blu", /ippool\/blue/],
    ] as const) {
      session.type(`${typed}\t`);
      expect(await session.shows(shown)).toMatch(shown);
      session.type("\x15"); // forgets the line
    }
    session.type("exit\n");
    await session.ended();
  });
});

/** Both ends of a named pipe, so that neither is waited for. */
class OpenPipe implements Disposable {
  readonly #fd: number;

  constructor(path: string) {
    this.#fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  }

  write(text: string): void {
    writeSync(this.#fd, text);
  }

  /** What nobody has read. @throws Error EAGAIN when there is nothing */
  read(): string {
    const bytes = new Uint8Array(4096);
    return new TextDecoder().decode(bytes.subarray(0, readSync(this.#fd, bytes)));
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}
