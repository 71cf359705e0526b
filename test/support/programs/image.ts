/** A container image made by hand: a static busybox, in the "docker archive" form that `ctr image import` reads. */

import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mustRunProgramSync } from "./programs.ts";

const APPLETS = ["sh", "sleep", "ping", "ip", "nc", "echo", "cat", "hostname", "ls", "true"] as const;

export interface ImageOptions {
  /** Under which names a pod can ask for it; with another tag than `latest` it is never looked for in a registry. */
  readonly tags: readonly string[];
  readonly entrypoint: readonly string[];
  /** What the entrypoint is told unless the container says something else. @default nothing */
  readonly command?: readonly string[];
  /** More of busybox's commands. @default none */
  readonly applets?: readonly string[];
  /** @default "/bin" */
  readonly path?: string;
  /** More files, by their paths in the image, instead of a command of busybox too: what this machine has under the other path, links followed. */
  readonly files?: Readonly<Record<string, string>>;
}

/** @returns the path of the archive, in `folder` */
export function makeImage(folder: string, options: ImageOptions): string {
  const busybox = Bun.which("busybox");
  if (busybox === null) throw new Error("make an image: busybox is missing: install busybox-static");
  const root = join(folder, "root");
  mkdirSync(join(root, "bin"), { recursive: true });
  for (const name of ["proc", "sys", "dev", "etc", "tmp"]) mkdirSync(join(root, name));
  copyFileSync(busybox, join(root, "bin", "busybox"));
  for (const applet of [...APPLETS, ...(options.applets ?? [])]) symlinkSync("busybox", join(root, "bin", applet));
  for (const [path, source] of Object.entries(options.files ?? {})) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    // through a link the copy would become busybox itself
    rmSync(join(root, path), { force: true });
    copyFileSync(source, join(root, path));
  }
  const layer = join(folder, "layer.tar");
  mustRunProgramSync(["tar", "-C", root, "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-cf", layer, "."]);

  const diffID = new Bun.CryptoHasher("sha256").update(readFileSync(layer)).digest("hex");
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const config = {
    architecture,
    os: "linux",
    config: { Env: [`PATH=${options.path ?? "/bin"}`], Entrypoint: options.entrypoint, Cmd: options.command ?? [] },
    rootfs: { type: "layers", diff_ids: [`sha256:${diffID}`] },
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "manifest.json"), JSON.stringify([{ Config: "config.json", RepoTags: options.tags, Layers: ["layer.tar"] }]));
  const archive = join(folder, "image.tar");
  mustRunProgramSync(["tar", "-C", folder, "-cf", archive, "manifest.json", "config.json", "layer.tar"]);
  return archive;
}
