/** The programs that tasks use, where they are looked for, and which distribution package brings each. */

import { accessSync, constants } from "node:fs";
import { join } from "node:path";

export interface SystemTool {
  /** The file to look for. @default the tool's own name */
  readonly command?: string;
  /** Folders besides `PATH`. */
  readonly folders?: readonly string[];
  /** Debian's and Ubuntu's package. */
  readonly package: string;
}

export const SYSTEM_TOOLS = {
  etcd: { package: "etcd-server" },
  etcdctl: { package: "etcd-client" },
  ip: { package: "iproute2" },
  nsenter: { package: "util-linux" },
  ping: { package: "iputils-ping" },
  openssl: { package: "openssl" },
  nft: { package: "nftables" },
  iptables: { package: "iptables" },
  containerd: { package: "containerd" },
  ctr: { package: "containerd" },
  podman: { package: "podman" },
  runc: { package: "runc" },
  zsh: { package: "zsh" },
  fish: { package: "fish" },
  busybox: { package: "busybox-static" },
  curl: { package: "curl" },
  dash: { package: "dash" },
  ldd: { package: "libc-bin" },
  "nc.openbsd": { package: "netcat-openbsd" },
  "cni-plugins": { command: "ptp", folders: ["/usr/lib/cni", "/opt/cni/bin"], package: "containernetworking-plugins" },
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
  return folders.map((folder) => join(folder, tool.command ?? name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
