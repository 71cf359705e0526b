/** The programs that tasks use, where they are looked for, and which distribution package brings each. */

import { accessSync, constants } from "node:fs";
import { join } from "node:path";

export interface SystemTool {
  /** File names to look for; the first that exists wins. */
  readonly commands: readonly string[];
  /** Folders besides `PATH`. */
  readonly folders?: readonly string[];
  /** Debian's and Ubuntu's package. */
  readonly package: string;
}

export const SYSTEM_TOOLS = {
  etcd: { commands: ["etcd"], package: "etcd-server" },
  etcdctl: { commands: ["etcdctl"], package: "etcd-client" },
  ip: { commands: ["ip"], package: "iproute2" },
  nsenter: { commands: ["nsenter"], package: "util-linux" },
  ping: { commands: ["ping"], package: "iputils-ping" },
  openssl: { commands: ["openssl"], package: "openssl" },
  nft: { commands: ["nft"], package: "nftables" },
  iptables: { commands: ["iptables"], package: "iptables" },
  containerd: { commands: ["containerd"], package: "containerd" },
  ctr: { commands: ["ctr"], package: "containerd" },
  podman: { commands: ["podman"], package: "podman" },
  runc: { commands: ["runc"], package: "runc" },
  zsh: { commands: ["zsh"], package: "zsh" },
  fish: { commands: ["fish"], package: "fish" },
  busybox: { commands: ["busybox"], package: "busybox-static" },
  "cni-plugins": { commands: ["ptp"], folders: ["/usr/lib/cni", "/opt/cni/bin"], package: "containernetworking-plugins" },
} as const satisfies Readonly<Record<string, SystemTool>>;

export type SystemToolName = keyof typeof SYSTEM_TOOLS;

/** `PATH` as root's login shell has it: a plain user's one lacks the folders of system administration. */
export function systemPath(path: string | undefined): string {
  const folders = (path ?? "").split(":").filter((folder) => folder !== "");
  const system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
  return [...folders, ...system.filter((folder) => !folders.includes(folder))].join(":");
}

/** @returns the absolute path of a tool, or undefined when it is not installed */
export function findSystemTool(name: SystemToolName, path: string | undefined = process.env["PATH"]): string | undefined {
  const tool: SystemTool = SYSTEM_TOOLS[name];
  const folders = tool.folders ?? systemPath(path).split(":");
  for (const command of tool.commands) {
    for (const folder of folders) {
      const candidate = join(folder, command);
      if (isExecutable(candidate)) return candidate;
    }
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
