/** What stands in `manifests/install-cni.yaml` against what stands elsewhere: the documents, the roles, the defaults of the program. */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseNetworkConfig } from "../../src/cni/config/parse-network-config.ts";
import { parseCommandLine } from "../../src/install-cni/settings/command-line.ts";
import { toPlaceholders } from "../../src/install-cni/network-config/placeholders.ts";
import { DEFAULT_FOLDERS, readSettings } from "../../src/install-cni/settings/settings.ts";
import { checkNetworkConfig, fillTemplate } from "../../src/install-cni/network-config/template.ts";
import { VERSION } from "../../src/lib/version.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { ShownDocument } from "../support/documents/document.ts";

const read = (path: string): string => readFileSync(join(repositoryRoot, path), "utf8");

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface PodSpec extends Readonly<Record<string, unknown>> {
  readonly serviceAccountName: string;
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string; readonly type: string } }[];
}

type Documents = readonly [
  { readonly data: Readonly<Record<string, string>> },
  { readonly spec: { readonly template: { readonly spec: PodSpec } } },
];
const [{ data }, daemonSet] = Bun.YAML.parse(read("manifests/install-cni.yaml")) as Documents;
const pod = daemonSet.spec.template.spec;
const [container] = pod.containers;

/** What the program is told there. */
const env = {
  ...data,
  ...Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? "from-the-pod"])),
  KUBERNETES_SERVICE_HOST: "10.96.0.1",
  KUBERNETES_SERVICE_PORT: "443",
};

test("its image is of this version, and is the one that docs/install.md builds", () => {
  expect(container.image).toEndWith(`/netplug:${VERSION}`);
  expect(read("docs/install.md")).toContain(`--tag ${container.image} `);
});

test("its account is the one that both files of roles let ask for the plugin's token", () => {
  for (const file of ["manifests/rbac.yaml", "manifests/rbac-etcd.yaml"])
    expect(read(file)).toContain(`kind: ServiceAccount\n    name: ${pod.serviceAccountName}\n    namespace: kube-system`);
});

test("the host's folders are mounted where the program looks for them, and are what it writes into files", () => {
  const hostPathAt = (mountPath: string): unknown => {
    const name = container.volumeMounts.find((mount) => mount.mountPath === mountPath)?.name;
    return pod.volumes.find((volume) => volume.name === name)?.hostPath;
  };
  const { hostConfDir } = readSettings({ binDir: undefined, confDir: undefined, isOnce: false }, env);
  expect(hostPathAt(DEFAULT_FOLDERS.bin)).toEqual({ path: "/opt/cni/bin", type: "DirectoryOrCreate" });
  expect(hostPathAt(DEFAULT_FOLDERS.conf)).toEqual({ path: hostConfDir, type: "DirectoryOrCreate" });
});

test("it stays, and its probe asks what it writes", () => {
  const [program, role, ...args] = container.command;
  expect([program, role, parseCommandLine(args)]).toEqual([
    "netplug",
    "install-cni",
    { options: { binDir: undefined, confDir: undefined, isOnce: false } },
  ]);
  expect(parseCommandLine(container.readinessProbe.exec.command.slice(2))).toEqual({ isReadinessAsked: true });
  const { stateFile, isOnce, datastoreType } = readSettings({ binDir: undefined, confDir: undefined, isOnce: false }, env);
  expect([isOnce, datastoreType]).toEqual([false, "kubernetes"]);
  // the root is read-only: a volume is there
  expect(container.volumeMounts.some(({ mountPath }) => stateFile?.startsWith(`${mountPath}/`) === true)).toBe(true);
});

describe("it may", () => {
  test("run before there is a network, on every node, and is the last to be taken away", () => {
    expect(pod).toMatchObject({
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      tolerations: [{ operator: "Exists" }],
    });
  });

  test("do nothing besides", () => {
    expect(container.securityContext).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect([pod["hostPID"], pod["hostIPC"]]).toEqual([undefined, undefined]);
  });
});

test("the network config that docs/install.md shows for dual stack is one, of both families", () => {
  const block = new ShownDocument("docs/install.md").block("yaml", "kind: ConfigMap");
  const { metadata, data: shown } = Bun.YAML.parse(block) as { readonly metadata: object; readonly data: Record<string, string> };
  expect(metadata).toEqual({ name: "netplug-install", namespace: "kube-system" });
  const settings = readSettings({ binDir: undefined, confDir: undefined, isOnce: false }, { ...env, ...shown });
  const found = { assets: {}, kubeconfigPath: "/etc/cni/net.d/netplug-kubeconfig" };
  const text = fillTemplate(
    shown["CNI_NETWORK_CONFIG"] ?? "",
    toPlaceholders(settings, found, () => "n1"),
    "docs/install.md",
  );
  checkNetworkConfig(text, "10-netplug.conflist", "docs/install.md");
  const { name, cniVersion, plugins } = JSON.parse(text) as { name: string; cniVersion: string; plugins: [object] };
  const { config, warnings, fault } = parseNetworkConfig(JSON.stringify({ name, cniVersion, ...plugins[0] }), "ADD");
  expect({ warnings, fault }).toEqual({ warnings: [], fault: undefined });
  expect(config.ipam.families).toEqual([4, 6]);
});

test("the further network that docs/multus.md shows is one, with routes and a pool of its own", () => {
  const block = new ShownDocument("docs/multus.md").block("yaml", "kind: NetworkAttachmentDefinition");
  const { spec } = Bun.YAML.parse(block) as { readonly spec: { readonly config: string } };
  checkNetworkConfig(spec.config, "10-netplug.conflist", "docs/multus.md");
  const { name, cniVersion, plugins } = JSON.parse(spec.config) as { name: string; cniVersion: string; plugins: [object] };
  const { config, warnings, fault } = parseNetworkConfig(JSON.stringify({ name, cniVersion, ...plugins[0] }), "ADD");
  expect({ warnings, fault }).toEqual({ warnings: [], fault: undefined });
  expect([config.name, config.ipam.pools[4], config.ipam.routes?.length]).toEqual(["blue", ["blue"], 1]);
});

test("the table of docs/install.md has the variables that the program reads, and says which are no placeholders", () => {
  const asked = new Set<string>();
  const watched = new Proxy<Readonly<Record<string, string>>>(
    {},
    {
      get: (_, name) => {
        if (typeof name === "string") asked.add(name);
        return undefined;
      },
      has: () => false,
    },
  );
  readSettings({ binDir: undefined, confDir: undefined, isOnce: false }, watched);
  const table = read("docs/install.md").split("| Variable |")[1]?.split("\n\n")[0] ?? "";
  const documented = [...table.matchAll(/^\| ((?:`[A-Z0-9_]+`(?:, )?)+)/gm)].flatMap(([, cell = ""]) => {
    const names = [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name = ""]) => name);
    // `A_B_ONE`, `_TWO`: of the same family
    const stem = names[0]?.replace(/_[A-Z0-9]+$/, "") ?? "";
    return names.map((name) => (name.startsWith("_") ? stem + name : name));
  });
  const own = [...asked].filter((name) => !name.startsWith("NETPLUG_") || name === "NETPLUG_CNI_SERVICE_ACCOUNT");
  // for other roles, which read the same settings of the datastore
  const others = ["ETCD_KEY_FILE", "ETCD_CERT_FILE", "ETCD_CA_CERT_FILE", "ETCD_USERNAME", "ETCD_PASSWORD", "USE_POD_CIDR"];
  expect(documented.sort()).toEqual(own.filter((name) => !others.includes(name)).sort());

  const settings = readSettings({ binDir: undefined, confDir: undefined, isOnce: false }, {});
  const placeholders = toPlaceholders(settings, { assets: {}, kubeconfigPath: undefined }, () => "n1");
  const [, exceptions = ""] = /for each variable of the table, except ([^;]+);/.exec(read("docs/install.md")) ?? [];
  const without = [...exceptions.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name = ""]) => name);
  expect(documented.filter((name) => !Object.hasOwn(placeholders, name))).toEqual(without.sort());
});
