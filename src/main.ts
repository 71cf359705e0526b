/** Entry point: the name that the program was called by chooses the role, and only that role is loaded. */

import { VERSION } from "./lib/version.ts";

const ABOUT = `netplug ${VERSION}: a container-network plugin

A container runtime calls it through CNI, with CNI_COMMAND in the environment and the network config on stdin.
CNI versions: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0

Names of this executable:
  netplug          the CNI plugin
  netplug-ipam     its address management, also for other main plugins
  netplugctl       administration; also called as kubectl-netplug, for "kubectl netplug"

Roles, as in "netplug install-cni":
  install-cni      puts the plugin, its network config and its access to the Kubernetes API onto a node

Options: --help, --version`;

// Nothing may outlive the answer: a kept connection would hold the process for a while.
process.exit(await run(baseName(process.argv0), process.argv.slice(2)));

async function run(name: string, args: readonly string[]): Promise<number> {
  switch (name) {
    case "netplugctl":
      return await (await import("./cli/program.ts")).runAsProgram(args, name);
    case "kubectl-netplug":
      return await (await import("./cli/program.ts")).runAsProgram(args, "kubectl netplug");
    case "netplug-ipam":
      return await runPlugin("netplug-ipam", args);
    default:
      return await runPlugin("netplug", args);
  }
}

async function runPlugin(plugin: "netplug" | "netplug-ipam", args: readonly string[]): Promise<number> {
  const [option] = args;
  if (option === "--version" || option === "-v") return (await import("./linux/answer.ts")).answerOrFail(`netplug ${VERSION}`, plugin);
  const command = process.env["CNI_COMMAND"] ?? "";
  const isHelpWanted = option === "--help" || option === "-h" || (option === undefined && command === "");
  if (isHelpWanted) {
    console.error(ABOUT);
    return 0;
  }
  if (command !== "") return await (await import("./cni/program.ts")).runAsProgram(plugin, command);
  if (plugin === "netplug" && option === "install-cni") return await (await import("./install-cni/program.ts")).runAsProgram(args.slice(1));
  const want = `${plugin === "netplug" ? "a role, " : ""}an option, or CNI_COMMAND in the environment`;
  console.error(`${plugin}: got ${JSON.stringify(option)}, want ${want}; see ${plugin} --help`);
  return 2;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
