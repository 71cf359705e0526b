import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import {
  API_SERVER_PROGRAMS,
  areClusterProgramsBuilt,
  CLUSTER_PROGRAMS,
  clusterVersion,
  clusterProgram,
  clusterProgramPath,
  CONFORMANCE_MODULE,
  ensureClusterPrograms,
  goForCluster,
  KUBERNETES_MODULE,
  kubernetesVersion,
  OLDEST_KUBERNETES_MODULE,
} from "./cluster-programs.ts";
import { goCacheFolder, makeStaging, markUsed } from "./go-cache.ts";
import { wantedGo } from "./go-compiler.ts";
import { goProgramPath, NEWER_ETCD } from "./go-programs.ts";

const SOURCES = { name: "libcni-driver", folder: "test/libcni", linkerFlags: [] };
const before = process.env["XDG_CACHE_HOME"];
let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "npgt-cache-"));
  process.env["XDG_CACHE_HOME"] = cache;
});
afterEach(() => {
  if (before === undefined) delete process.env["XDG_CACHE_HOME"];
  else process.env["XDG_CACHE_HOME"] = before;
  rmSync(cache, { recursive: true, force: true });
});

test.each([
  ["kubectl", "npm run cluster -- build"],
  ["agnhost", "npm run test:conformance"],
] as const)("%s is named when it is not built, with the command that builds it, %s, and what that needs", (name, command) => {
  expect(areClusterProgramsBuilt([name])).toBe(false);
  expect(() => clusterProgram(name)).toThrow(new RegExp(`^${name} is not built: run \`${command}\` \\(Go 1\\.\\d+\\.\\d+ or newer`));
});

test("what is built is not built again, and of what nobody wants nothing need be there", async () => {
  for (const path of [goProgramPath(NEWER_ETCD), ...API_SERVER_PROGRAMS.map((name) => clusterProgramPath(name))]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "");
  }
  expect(await ensureClusterPrograms(API_SERVER_PROGRAMS)).toBe(true);
  expect(areClusterProgramsBuilt(API_SERVER_PROGRAMS)).toBe(true);
  expect(areClusterProgramsBuilt(["ctr"])).toBe(false);
});

test("the wanted Go is that of the module, and not older than the tool lines need", () => {
  expect(wantedGo()).toBe("Go 1.24.0 or newer");
  expect(wantedGo("test/libcni")).toBe("Go 1.24.0 or newer");
  expect(goForCluster()).toBe(wantedGo("test/cluster/containerd"));
  expect(kubernetesVersion()).toMatch(/^1\.\d+\.\d+$/);
});

test("a module named in the environment gives all of Kubernetes but kubectl, and nothing else", () => {
  const env = { [KUBERNETES_MODULE]: OLDEST_KUBERNETES_MODULE };
  const others = CLUSTER_PROGRAMS.filter((name) => clusterProgramPath(name, env) !== clusterProgramPath(name, {}));
  expect(others.toSorted()).toEqual(["kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"]);
  expect(kubernetesVersion(OLDEST_KUBERNETES_MODULE)).not.toBe(kubernetesVersion());
  expect([clusterVersion(env), clusterVersion({})]).toEqual([kubernetesVersion(OLDEST_KUBERNETES_MODULE), kubernetesVersion()]);
  expect(() => clusterProgramPath("kubelet", { [KUBERNETES_MODULE]: "nowhere" })).toThrow(/^nowhere\/go\.mod: is missing, or/);
});

test("Kubernetes' tests are of the release that clusters are of, as is every module of it", () => {
  const pinned = (folder: string): readonly string[] =>
    readFileSync(join(repositoryRoot, folder, "go.mod"), "utf8").match(/^replace .*$/gm) ?? [];
  expect(kubernetesVersion(CONFORMANCE_MODULE)).toBe(kubernetesVersion());
  expect(pinned(CONFORMANCE_MODULE)).toEqual(pinned("test/cluster/kubernetes"));
  expect(pinned(CONFORMANCE_MODULE)).not.toEqual([]);
});

test("the document for users names the releases of Kubernetes that are pinned here", () => {
  const text = readFileSync(join(repositoryRoot, "docs/install.md"), "utf8");
  expect(text).toContain(`kube-apiserver ${kubernetesVersion(OLDEST_KUBERNETES_MODULE)} and ${kubernetesVersion()},`);
});

test("other flags are another folder of the cache", () => {
  const folder = goCacheFolder(SOURCES);
  expect(dirname(folder)).toBe(join(cache, "netplug", "go"));
  expect(goCacheFolder({ ...SOURCES, linkerFlags: ["-X a.b=c"] })).not.toBe(folder);
});

test("a build removes what an ended one left, and states of all programs that nobody used for a month", () => {
  const folder = goCacheFolder(SOURCES);
  const state = (name: string, digit: string): string => join(dirname(folder), `${name}-${digit.repeat(16)}`);
  const [forgotten, used, dropped] = [state(SOURCES.name, "0"), state(SOURCES.name, "1"), state("dropped-program", "0")];
  const [other, leftover] = [join(dirname(folder), "other"), join(folder, ".4194304")];
  for (const path of [forgotten, used, dropped, other, leftover]) mkdirSync(path, { recursive: true });
  for (const path of [forgotten, used, dropped, other]) utimesSync(path, 0, 0);
  markUsed(used);
  expect(basename(makeStaging(folder))).toBe(`.${process.pid}`);
  expect([forgotten, used, dropped, other, leftover].map((path) => existsSync(path))).toEqual([false, true, false, true, false]);
});
