/** For tests: real etcd servers on free ports of 127.0.0.1, with their data in a temporary folder. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { mustRunProgram } from "../programs/programs.ts";
import { standStill } from "../programs/stand-still.ts";
import { freePorts } from "./free-ports.ts";

export interface EtcdTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** Clients must show a certificate of one of these authorities. */
  readonly clientCaFile?: string;
}

/** Where a member runs. */
export interface EtcdHost {
  readonly address: string;
  /** What its command begins with, to run it somewhere else: `ip netns exec …`. */
  readonly prefix: readonly string[];
}

export interface EtcdServerOptions {
  readonly tls?: EtcdTls;
  /** For tests that start many: nothing waits for the disk, passwords are cheap to check, and a lone server elects itself in 0.1 s. */
  readonly quick?: boolean;
  /** Milliseconds between heartbeats; an election begins after ten of them. @default 100, or 10 when `quick` */
  readonly heartbeatMs?: number;
  /** One for each member. @default all on 127.0.0.1 */
  readonly hosts?: readonly EtcdHost[];
  /** More flags. */
  readonly args?: readonly string[];
}

/** What `etcdctl` needs to be let in: flags such as `--cacert=…`, `--user=…`. */
export type EtcdctlAccess = readonly string[];

/** One member. Stopping keeps its data; disposing removes it. */
export interface EtcdServer extends AsyncDisposable {
  /** `http://127.0.0.1:port` or `https://…`. */
  readonly endpoint: string;
  readonly port: number;
  readonly peerPort: number;
  start(): Promise<void>;
  /** Ends it at once, with SIGKILL. */
  stop(): Promise<void>;
  /** Stops its time, at the latest when this resolves: connections stay, nothing is answered. */
  pause(): Promise<void>;
  resume(): void;
  /** What `etcdctl` prints. @throws when it fails */
  ctl(args: readonly string[], access?: EtcdctlAccess, stdin?: string): Promise<string>;
}

const START_LIMIT_MS = 120_000;

/** Starts a cluster of one. */
export async function startEtcd(options: EtcdServerOptions = {}): Promise<EtcdServer> {
  const [server] = await startEtcdCluster(1, options);
  if (server === undefined) throw new Error("start etcd: no server");
  return server;
}

/** Starts a cluster; all members serve when it returns. */
export async function startEtcdCluster(size: number, options: EtcdServerOptions = {}): Promise<readonly EtcdServer[]> {
  const ports = freePorts(size * 2);
  const places = Array.from({ length: size }, (_, index): Place => {
    const host = options.hosts?.[index] ?? { address: "127.0.0.1", prefix: [] };
    return { name: `m${index}`, host, port: ports[index] ?? 0, peerPort: ports[size + index] ?? 0 };
  });
  const cluster = places.map((place) => `${place.name}=${peerUrlOf(place)}`).join(",");
  const members = places.map((place) => createMember(options, place, cluster));
  const started = await Promise.allSettled(members.map((member) => member.start()));
  const failed = started.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    await Promise.all(members.map((member) => member[Symbol.asyncDispose]()));
    throw failed.reason;
  }
  return members;
}

interface Place {
  readonly name: string;
  readonly host: EtcdHost;
  readonly port: number;
  readonly peerPort: number;
}

function peerUrlOf({ host, peerPort }: Place): string {
  return `http://${host.address}:${peerPort}`;
}

function createMember(options: EtcdServerOptions, place: Place, cluster: string): EtcdServer {
  const { name, host, port, peerPort } = place;
  const folder = mkdtempSync(join(tmpdir(), "netplug-etcd-"));
  const endpoint = `${options.tls === undefined ? "http" : "https"}://${host.address}:${port}`;
  const peer = peerUrlOf(place);
  const heartbeatMs = options.heartbeatMs ?? (options.quick === true ? 10 : 100);
  const command = [
    ...host.prefix,
    process.env["ETCD_BINARY"] ?? "etcd",
    `--name=${name}`,
    `--data-dir=${join(folder, "data")}`,
    `--listen-client-urls=${endpoint}`,
    `--advertise-client-urls=${endpoint}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=${cluster}`,
    `--initial-cluster-token=${cluster.replaceAll(/\W+/g, "-")}`,
    `--heartbeat-interval=${heartbeatMs}`,
    `--election-timeout=${heartbeatMs * 10}`,
    "--logger=zap",
    ...(options.quick === true ? ["--unsafe-no-fsync", "--bcrypt-cost=4"] : []),
    ...tlsFlags(options.tls),
    ...(options.args ?? []),
  ];
  let running: Subprocess<"ignore", "ignore", "pipe"> | undefined;

  const server: EtcdServer = {
    endpoint,
    port,
    peerPort,
    async start() {
      running = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe", env: { PATH: process.env["PATH"] ?? "" } });
      await untilItServes(running);
    },
    async stop() {
      const process = running;
      running = undefined;
      process?.kill("SIGKILL");
      await process?.exited;
    },
    async pause() {
      if (running !== undefined) await standStill(running.pid);
    },
    resume: () => running?.kill("SIGCONT"),
    ctl: (args, access = [], stdin = "") => runEtcdctl([`--endpoints=${endpoint}`, ...access, ...args], stdin),
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return server;
}

/** Runs the distribution's `etcdctl` with the v3 API. */
export async function runEtcdctl(args: readonly string[], stdin = ""): Promise<string> {
  return await mustRunProgram(["etcdctl", ...args], { stdin, env: { PATH: process.env["PATH"], ETCDCTL_API: "3" } });
}

function tlsFlags(tls: EtcdTls | undefined): readonly string[] {
  if (tls === undefined) return [];
  const flags = [`--cert-file=${tls.certFile}`, `--key-file=${tls.keyFile}`];
  return tls.clientCaFile === undefined ? flags : [...flags, "--client-cert-auth", `--trusted-ca-file=${tls.clientCaFile}`];
}

/** Reads the server's log until it says that it serves, and goes on reading so that it never blocks on a full pipe. */
async function untilItServes(server: Subprocess<"ignore", "ignore", "pipe">): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let log = "";
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of server.stderr) {
      log = (log + decoder.decode(chunk, { stream: true })).slice(-4_000);
      if (/ready to serve client requests/.test(log) || /serving (insecure )?client (requests|traffic)/.test(log)) resolve();
    }
    reject(new Error(`start etcd: it ended; its last words: ${log}`));
  };
  read().catch(reject);
  const timer = setTimeout(() => {
    server.kill("SIGKILL");
    reject(new Error(`start etcd: not ready after ${START_LIMIT_MS} ms; its last words: ${log}`));
  }, START_LIMIT_MS);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
}
