/** A real kube-apiserver with its etcd, and nothing else: started in seconds, for tests of what talks to it. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_SERVER_PROGRAMS, areClusterProgramsBuilt, clusterProgram } from "../../../tools/prerequisites/cluster-programs.ts";
import { createCertificateFolder } from "./certificates.ts";
import type { Authority, KeyPair } from "./certificates.ts";
import { freePorts } from "./free-ports.ts";
import { type AdminRequests, adminRequests } from "./admin-requests.ts";
import { Cleaner } from "../daemons/cleaner.ts";
import { Daemon } from "../daemons/daemon.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { runKubectl } from "./kubectl.ts";
import { mustRunProgramSync } from "../programs/programs.ts";

export interface ApiServerOptions {
  /** Users with a static token, besides the administrator; they may do what RBAC lets them, which is nothing at first. */
  readonly users?: Readonly<Record<string, { readonly groups?: readonly string[] }>>;
  /** More flags for kube-apiserver; of a flag given twice the last counts. */
  readonly args?: readonly string[];
  /**
   * Whether pods need a service account, which only a controller manager makes.
   *
   * @default false
   */
  readonly withServiceAccounts?: boolean;
  /**
   * Whether etcd has what it is told on its disk before it answers, as it has wherever it keeps something. A test's data are worth no wait.
   *
   * @default false
   */
  readonly isDurable?: boolean;
}

/** Where the two programs run and are reached. */
export interface ApiServerPlace {
  /** Starts a program there; absent: where this process is. */
  readonly enter?: readonly string[];
  /** What they listen on there; an IPv6 address stands for all IPv4 ones, too. */
  readonly listen: string;
  /** What this process reaches them by. */
  readonly host: string;
  /** What nodes and pods reach them by. */
  readonly advertise: string;
  /** Of Services; the first, that of `advertise`, is what a Service has that asks for none. */
  readonly serviceFamilies: readonly [4 | 6, ...(4 | 6)[]];
  readonly ports: { readonly server: number; readonly etcd: number; readonly etcdPeer: number };
}

/** An identity, in each form that a client may want it. */
export interface Identity extends KeyPair {
  readonly kubeconfigFile: string;
}

export interface ApiServer extends AdminRequests, AsyncDisposable {
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
  /** For the controller manager, which signs service accounts' tokens too. */
  readonly serviceAccountKeyFile: string;
  /** The static token of one of the `users`. */
  tokenOf(user: string): string;
  /** A client certificate for any user, known or not. @param url of its kubeconfig, where that user reaches the server by another one */
  issue(user: string, groups?: readonly string[], url?: string): Identity;
  /** Runs `kubectl` as the administrator. @throws Error when it fails */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

/** Of Services; by the first address pods know the server. */
const SERVICES = { 4: { range: "10.96.0.0/16", first: "10.96.0.1" }, 6: { range: "fd96::/112", first: "fd96::1" } } as const;

/** `[fd30::1]` */
export function inUrl(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

/** Whether the programs are there; tests that need them say `(needs cluster)` in their name and are skipped otherwise. */
export function canStartApiServer(): boolean {
  return areClusterProgramsBuilt(API_SERVER_PROGRAMS);
}

/** Starts etcd and kube-apiserver on free ports; both serve when it returns. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const cleaner = new Cleaner();
  try {
    const [etcd = 0, etcdPeer = 0, server = 0] = freePorts(3);
    const loopback = "127.0.0.1";
    const ports = { etcd, etcdPeer, server };
    const place: ApiServerPlace = { listen: loopback, host: loopback, advertise: loopback, serviceFamilies: [4], ports };
    return await startApiServerAt(place, cleaner, options);
  } catch (thrown) {
    await cleaner.clean();
    throw thrown;
  }
}

/** {@link startApiServer} at a place that the caller chose; what it started is recorded in `cleaner` when it throws. */
export async function startApiServerAt(place: ApiServerPlace, cleaner: Cleaner, options: ApiServerOptions): Promise<ApiServer> {
  const folder = mkdtempSync(join(tmpdir(), "npgt-kube-"));
  await cleaner.add({ folder });
  const etcd = createEtcd(folder, cleaner, place, options);
  await etcd.launch();

  const { users = {} } = options;
  const port = place.ports.server;
  const url = `https://${place.host}:${port}`;
  const authority = createCertificateFolder(folder).createAuthority("ca");
  const admin = authority.issueClient("admin", ["system:masters"]);
  const tokens = new Map(["admin", ...Object.keys(users)].map((user) => [user, `${user}-${crypto.randomUUID()}`]));
  const tokenRows = [...tokens].map(([user, token]) => {
    const groups = user === "admin" ? ["system:masters"] : (users[user]?.groups ?? []);
    return `${token},${user},${user},"${groups.join(",")}"`;
  });
  writeFileSync(join(folder, "tokens.csv"), `${tokenRows.join("\n")}\n`, { mode: 0o600 });

  const server = createServer({ folder, cleaner, authority, place, options });
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
  const token = tokenOf("admin");
  return {
    ...cluster,
    ...adminRequests({ ...cluster, token }),
    port,
    clientCertFile: admin.certFile,
    clientKeyFile: admin.keyFile,
    token,
    kubeconfigFile,
    folder,
    cleaner,
    server,
    etcd,
    etcdEndpoint: `http://${place.host}:${place.ports.etcd}`,
    tokenOf,
    serviceAccountKeyFile: serviceAccountKeyIn(folder),
    issue(user, groups = [], ownUrl = url) {
      const pair = authority.issueClient(user, groups);
      return { ...pair, kubeconfigFile: writeKubeconfig(join(folder, `${user}.kubeconfig`), { ...cluster, url: ownUrl }, pair) };
    },
    kubectl: (args, stdin) => runKubectl({ kubeconfigFile, folder }, args, stdin),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function createEtcd(
  folder: string,
  cleaner: Cleaner,
  { enter, listen, host, advertise, ports }: ApiServerPlace,
  { isDurable = false }: ApiServerOptions,
): Daemon {
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return new Daemon({
    name: "etcd",
    ...(enter === undefined ? {} : { place: enter }),
    command: [
      clusterProgram("etcd"),
      `--data-dir=${join(folder, "etcd")}`,
      `--listen-client-urls=http://${inUrl(listen)}:${ports.etcd}`,
      `--advertise-client-urls=http://${inUrl(advertise)}:${ports.etcd}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      ...(isDurable ? [] : ["--unsafe-no-fsync"]),
      "--log-level=warn",
    ],
    logFile: join(folder, "etcd.log"),
    cleaner,
    isReady: async (signal) => (await fetch(`http://${host}:${ports.etcd}/readyz`, { signal })).ok,
  });
}

interface ServerPlan {
  readonly folder: string;
  readonly cleaner: Cleaner;
  readonly authority: Authority;
  readonly place: ApiServerPlace;
  readonly options: ApiServerOptions;
}

function createServer({ folder, cleaner, authority, place, options }: ServerPlan): Daemon {
  const { enter, listen, host, advertise, serviceFamilies, ports } = place;
  const addresses = [...new Set([host, advertise, "127.0.0.1", SERVICES[serviceFamilies[0]].first])].map((address) => `IP:${address}`);
  const certificate = authority.issueServer("kube-apiserver", [...addresses, "DNS:localhost", "DNS:kubernetes"].join(","));
  const serviceAccountKey = createServiceAccountKey(folder);
  mkdirSync(join(folder, "certs"));
  return new Daemon({
    name: "kube-apiserver",
    ...(enter === undefined ? {} : { place: enter }),
    command: [
      clusterProgram("kube-apiserver"),
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      `--bind-address=${listen}`,
      `--advertise-address=${advertise}`,
      // a loopback address cannot be an endpoint of the `kubernetes` Service
      ...(advertise.startsWith("127.") ? ["--endpoint-reconciler-type=none"] : []),
      `--secure-port=${ports.server}`,
      `--cert-dir=${join(folder, "certs")}`,
      `--tls-cert-file=${certificate.certFile}`,
      `--tls-private-key-file=${certificate.keyFile}`,
      `--client-ca-file=${authority.certFile}`,
      `--token-auth-file=${join(folder, "tokens.csv")}`,
      `--service-account-key-file=${serviceAccountKey}`,
      `--service-account-signing-key-file=${serviceAccountKey}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-cluster-ip-range=${serviceFamilies.map((family) => SERVICES[family].range).join(",")}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      ...(options.withServiceAccounts === true ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      "--allow-privileged=true",
      "--kubelet-preferred-address-types=InternalIP",
      "--profiling=false",
      ...(options.args ?? []),
    ],
    // a quarter less work for a start, for 100 MB more: tests start some dozens
    env: { GOGC: "400" },
    logFile: join(folder, "kube-apiserver.log"),
    cleaner,
    isReady: async (signal) => {
      const response = await fetch(`https://${host}:${ports.server}/readyz`, { signal, tls: { ca: Bun.file(authority.certFile) } });
      return response.ok;
    },
  });
}

function createServiceAccountKey(folder: string): string {
  const path = serviceAccountKeyIn(folder);
  mustRunProgramSync(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path]);
  return path;
}

function serviceAccountKeyIn(folder: string): string {
  return join(folder, "service-accounts.key");
}
