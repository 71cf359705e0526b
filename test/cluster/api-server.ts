/** A real kube-apiserver with its etcd, and nothing else: started in seconds, for tests of what talks to it. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_SERVER_PROGRAMS, areClusterProgramsBuilt, clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";
import { createCertificateFolder } from "../support/certificates.ts";
import type { Authority, KeyPair } from "../support/certificates.ts";
import { freePorts } from "../support/etcd.ts";
import { Cleaner } from "./cleaner.ts";
import { Daemon } from "./daemon.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { runKubectl } from "./kubectl.ts";

export interface ApiServerOptions {
  /** Users with a static token, besides the administrator; they may do what RBAC lets them, which is nothing at first. */
  readonly users?: Readonly<Record<string, { readonly groups?: readonly string[] }>>;
  /** More flags for kube-apiserver; of a flag given twice the last counts. */
  readonly args?: readonly string[];
  /**
   * Where it listens, as far as others than this machine's loopback must reach it.
   *
   * @default 127.0.0.1
   */
  readonly address?: string;
  /**
   * Whether pods need a service account, which only a controller manager makes.
   *
   * @default false
   */
  readonly withServiceAccounts?: boolean;
}

/** An identity, in each form that a client may want it. */
export interface Identity extends KeyPair {
  readonly kubeconfigFile: string;
}

export interface ApiServer extends AsyncDisposable {
  /** `https://127.0.0.1:port` */
  readonly url: string;
  readonly port: number;
  /** Whoever signed the server's certificate, and every client's. */
  readonly caFile: string;
  /** Of the administrator: user `admin`, group `system:masters`. */
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
  readonly token: string;
  /** The administrator's, with the certificate. */
  readonly kubeconfigFile: string;
  /** For files of the test; goes away with the server. */
  readonly folder: string;
  /** What everything that belongs to this server is recorded with. */
  readonly cleaner: Cleaner;
  /** Stop, start, pause and resume them to see what clients do; data and port stay. */
  readonly server: Daemon;
  readonly etcd: Daemon;
  /** What `etcdctl` takes. */
  readonly etcdEndpoint: string;
  /** The static token of one of the `users`. */
  tokenOf(user: string): string;
  /** A client certificate for any user, known or not. */
  issue(user: string, groups?: readonly string[]): Identity;
  /** Runs `kubectl` as the administrator. @throws Error when it fails */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

/** Whether the programs are there; tests that need them say `(needs cluster)` in their name and are skipped otherwise. */
export function canStartApiServer(): boolean {
  return areClusterProgramsBuilt(API_SERVER_PROGRAMS);
}

/** Starts etcd and kube-apiserver on free ports; both serve when it returns. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const cleaner = new Cleaner();
  try {
    const folder = mkdtempSync(join(tmpdir(), "npgt-kube-"));
    await cleaner.add({ folder });
    return await start(folder, cleaner, options);
  } catch (thrown) {
    await cleaner.clean();
    throw thrown;
  }
}

async function start(folder: string, cleaner: Cleaner, options: ApiServerOptions): Promise<ApiServer> {
  const [etcdPort = 0, peerPort = 0, port = 0] = freePorts(3);
  const etcd = createEtcd(folder, cleaner, etcdPort, peerPort);
  await etcd.launch();

  const { address = "127.0.0.1", users = {} } = options;
  const url = `https://${address}:${port}`;
  const authority = createCertificateFolder(folder).createAuthority("ca");
  const admin = authority.issueClient("admin", ["system:masters"]);
  const tokens = new Map(["admin", ...Object.keys(users)].map((user) => [user, `${user}-${crypto.randomUUID()}`]));
  const tokenRows = [...tokens].map(([user, token]) => {
    const groups = user === "admin" ? ["system:masters"] : (users[user]?.groups ?? []);
    return `${token},${user},${user},"${groups.join(",")}"`;
  });
  writeFileSync(join(folder, "tokens.csv"), `${tokenRows.join("\n")}\n`, { mode: 0o600 });

  const server = createServer({ folder, cleaner, authority, address, port, etcdPort, options });
  await etcd.untilReady();
  await server.start();

  const cluster = { url, caFile: authority.certFile };
  const kubeconfigFile = writeKubeconfig(join(folder, "admin.kubeconfig"), cluster, admin);
  const stop = async (): Promise<void> => {
    await server.stop();
    await etcd.stop();
    await cleaner.clean();
  };
  const tokenOf = (user: string): string => {
    const token = tokens.get(user);
    if (token === undefined) throw new Error(`token of "${user}": startApiServer() was given no such user`);
    return token;
  };
  return {
    ...cluster,
    port,
    clientCertFile: admin.certFile,
    clientKeyFile: admin.keyFile,
    token: tokenOf("admin"),
    kubeconfigFile,
    folder,
    cleaner,
    server,
    etcd,
    etcdEndpoint: `http://127.0.0.1:${etcdPort}`,
    tokenOf,
    issue(user, groups = []) {
      const pair = authority.issueClient(user, groups);
      return { ...pair, kubeconfigFile: writeKubeconfig(join(folder, `${user}.kubeconfig`), cluster, pair) };
    },
    kubectl: (args, stdin) => runKubectl({ kubeconfigFile, folder }, args, stdin),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function createEtcd(folder: string, cleaner: Cleaner, port: number, peerPort: number): Daemon {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  return new Daemon({
    name: "etcd",
    command: [
      clusterProgram("etcd"),
      `--data-dir=${join(folder, "etcd")}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    logFile: join(folder, "etcd.log"),
    cleaner,
    isReady: async () => (await fetch(`${client}/readyz`)).ok,
  });
}

interface ServerPlan {
  readonly folder: string;
  readonly cleaner: Cleaner;
  readonly authority: Authority;
  readonly address: string;
  readonly port: number;
  readonly etcdPort: number;
  readonly options: ApiServerOptions;
}

function createServer(plan: ServerPlan): Daemon {
  const { folder, cleaner, authority, address, port, etcdPort, options } = plan;
  // the service network's first address is what pods know the server by
  const certificate = authority.issueServer("kube-apiserver", `IP:${address},IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes`);
  const serviceAccountKey = createServiceAccountKey(folder);
  mkdirSync(join(folder, "certs"));
  const isLoopback = address.startsWith("127.");
  return new Daemon({
    name: "kube-apiserver",
    command: [
      clusterProgram("kube-apiserver"),
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      // a loopback address cannot be an endpoint of the `kubernetes` Service
      ...(isLoopback ? ["--endpoint-reconciler-type=none"] : []),
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, "certs")}`,
      `--tls-cert-file=${certificate.certFile}`,
      `--tls-private-key-file=${certificate.keyFile}`,
      `--client-ca-file=${authority.certFile}`,
      `--token-auth-file=${join(folder, "tokens.csv")}`,
      `--service-account-key-file=${serviceAccountKey}`,
      `--service-account-signing-key-file=${serviceAccountKey}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-cluster-ip-range=10.96.0.0/16",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      ...(options.withServiceAccounts === true ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      "--allow-privileged=true",
      "--kubelet-preferred-address-types=InternalIP",
      "--profiling=false",
      ...(options.args ?? []),
    ],
    logFile: join(folder, "kube-apiserver.log"),
    cleaner,
    isReady: async () => {
      const response = await fetch(`https://${address}:${port}/readyz`, { tls: { ca: Bun.file(authority.certFile) } });
      return response.ok;
    },
  });
}

function createServiceAccountKey(folder: string): string {
  const path = join(folder, "service-accounts.key");
  const result = Bun.spawnSync(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  if (!result.success) throw new Error(`openssl ecparam: ${result.stderr.toString()}`);
  return path;
}
