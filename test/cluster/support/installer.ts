/** The installer as a cluster's administrator has it: an image of the built executable, and the manifest that we ship. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../../tools/repository.ts";
import { distFolder } from "../../support/programs/cni.ts";
import { makeImage } from "../../support/programs/image.ts";
import type { Cluster } from "./cluster.ts";
import type { ClusterNode } from "./node.ts";

const MANIFEST = join(repositoryRoot, "manifests/install-cni.yaml");
/** What stands in the manifest, for people to put theirs in its place. */
const IMAGE_IN_MANIFEST = /registry\.example\/netplug:v[0-9.]+/;
const SETTINGS_IN_MANIFEST = "  DATASTORE_TYPE: kubernetes\n";

/** For `kubectl`. */
export const INSTALLER_PODS: readonly string[] = ["--namespace", "kube-system", "-l", "app.kubernetes.io/name=netplug-install"];

/** The built executable, and one that does the same and is another file of the same size. @returns their paths, in `folder` */
export function makeExecutables(folder: string): readonly [string, string] {
  const bytes = readFileSync(join(distFolder, "netplug"));
  const paths = [join(folder, "netplug"), join(folder, "other-netplug")] as const;
  for (const [index, path] of paths.entries()) {
    // the last of those bytes of an ELF header that the kernel does not read
    bytes[15] = index;
    writeFileSync(path, bytes, { mode: 0o755 });
  }
  return paths;
}

/** Gives a node what docs/install.md says to build, of what this machine has. @param folder for files that go again; does not exist */
export function importInstallerImage(node: ClusterNode, folder: string, tag: string, executable: string): void {
  mkdirSync(folder);
  // of the one that ldd knows for an executable
  const { stdout } = Bun.spawnSync(["ldd", join(distFolder, "netplug")], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const libraries = stdout.toString().match(/\/[^ ]+/g) ?? [];
  const files = Object.fromEntries(
    [...libraries, "/usr/bin/netplug"].map((path) => [path, path.startsWith("/usr/bin") ? executable : path]),
  );
  node.importImage(makeImage(folder, { tags: [tag], entrypoint: ["/usr/bin/netplug"], path: "/usr/bin:/bin", files }));
  // some hundred megabytes
  rmSync(folder, { recursive: true });
}

/** Applies the manifest and waits for nothing. @param settings of the ConfigMap, besides the datastore's type */
export async function applyInstaller(cluster: Cluster, image: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries({ DATASTORE_TYPE: "kubernetes", ...settings }).map(
    ([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`,
  );
  const manifest = readFileSync(MANIFEST, "utf8")
    .replace(IMAGE_IN_MANIFEST, image)
    .replace(SETTINGS_IN_MANIFEST, () => lines.join(""));
  await cluster.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], manifest);
}

/** Deletes it; its pods have ended when this returns. */
export async function deleteInstaller(cluster: Cluster): Promise<void> {
  await cluster.kubectl([
    "--namespace",
    "kube-system",
    "delete",
    "daemonset/netplug-install",
    "configmap/netplug-install",
    "--cascade=foreground",
    "--timeout=180s",
  ]);
}

/** Waits until the pods of the newest manifest are Ready. */
export async function untilInstalled(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["--namespace", "kube-system", "rollout", "status", "daemonset/netplug-install", "--timeout=180s"]);
}

/** A pod that installs once, into a folder of the node's that a test has prepared. */
export interface OneInstallation {
  readonly name: string;
  readonly node: string;
  readonly bin: string;
  /** @default false */
  readonly isReadOnly?: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

/** Runs it to its end, whatever that is. */
export async function runInstallerOnce(cluster: Cluster, image: string, request: OneInstallation): Promise<void> {
  const { name, node, bin, isReadOnly = false, settings } = request;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "kube-system" },
    spec: {
      nodeName: node,
      hostNetwork: true,
      serviceAccountName: "netplug-node",
      restartPolicy: "Never",
      containers: [
        {
          name: "install-cni",
          image,
          command: ["netplug", "install-cni", "--once"],
          env: Object.entries(settings).map(([key, value]) => ({ name: key, value })),
          volumeMounts: [
            { name: "bin", mountPath: "/host/opt/cni/bin", readOnly: isReadOnly },
            { name: "conf", mountPath: "/host/etc/cni/net.d" },
          ],
        },
      ],
      volumes: [
        { name: "bin", hostPath: { path: bin, type: "DirectoryOrCreate" } },
        { name: "conf", hostPath: { path: `/run/${name}`, type: "DirectoryOrCreate" } },
      ],
    },
  };
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify(pod));
  const wait = ["--namespace", "kube-system", "wait", `pod/${name}`, "--timeout=180s"];
  await cluster.kubectl([...wait, "--for=jsonpath={.status.containerStatuses[0].state.terminated}"]);
}
