/** What a person sees of a command that takes long, on a real terminal. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { toBlockObject } from "../../src/datastore/kubernetes/objects/block-object.ts";
import { makeBlock } from "../datastore/blocks.ts";
import { type FakeApiServer, startFakeApiServer } from "../kube/support/fake-api-server.ts";
import { distFolder } from "../support/programs/cni.ts";
import { startOnTerminal } from "../support/programs/terminal.ts";

const netplugctl = join(distFolder, "netplugctl");

const PAGES: Readonly<Record<string, readonly object[]>> = {
  ipamblocks: ["10.65.0.0/26", "10.65.0.64/26"].map((cidr) => toBlockObject(makeBlock(cidr, "n1"))),
  pods: ["a", "b"].map((name) => ({ metadata: { name, namespace: "prod", uid: name }, spec: { nodeName: "n1" }, status: {} })),
};

/** An API server that has two pages of blocks and of pods, and needs some time for each. */
function startSlowServer(pauseMs: number): FakeApiServer {
  return startFakeApiServer(async ({ path }) => {
    const [first, second] = PAGES[/[a-z]+(?=\?|$)/.exec(path)?.[0] ?? ""] ?? [];
    if (first === undefined) return Response.json({ metadata: {}, items: [] });
    await Bun.sleep(pauseMs);
    const isFirst = !path.includes("continue=");
    return Response.json({ metadata: { continue: isFirst ? "t1" : "" }, items: [isFirst ? first : second] });
  });
}

const envFor = (server: FakeApiServer) => ({ DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: server.url, KUBECONFIG: "", HOME: "" });

async function screenOf(server: FakeApiServer, command: readonly string[]): Promise<string> {
  await using terminal = startOnTerminal(["sh", "-c", '"$@"; echo ended', "sh", ...command], { ...envFor(server), NO_COLOR: undefined });
  return await terminal.shows(/ended/);
}

/** A line that is written over the one before, and does not wrap on a narrow terminal. */
const shown = (line: string): string => `\r\x1b[K\x1b[?7l${line} \x1b[?7h`;

test("a command that takes long shows on a terminal what it has read, and wipes that before it prints", async () => {
  await using server = startSlowServer(2_100);
  const screen = await screenOf(server, [netplugctl, "ipam", "show", "-o", "json"]);
  expect(screen).toStartWith(`${shown("read 1 block")}${shown("read 2 blocks")}\r\x1b[K{\r\n  "pools": [],`);
});

test("so does one that lists endpoints", async () => {
  await using server = startSlowServer(2_100);
  const screen = await screenOf(server, [netplugctl, "get", "workloadendpoints", "-A", "-o", "name"]);
  expect(screen).toStartWith(`${shown("read 1 endpoint")}${shown("read 2 endpoints")}\r\x1b[Kworkloadendpoint`);
});

test("ipam check shows when it looks again at what may be under way", async () => {
  const block = makeBlock("10.65.0.0/26", "n1", { 0: "n1" });
  // Recent enough for a slow machine's second look, and so old that the check soon ends.
  const since = Math.floor(Date.now() / 1_000) - 10;
  const allocations = block.allocations.map((one) => ({
    ...one,
    since,
    owner: { ...one.owner, namespace: "prod", pod: "gone", podUID: "gone" },
  }));
  await using server = startFakeApiServer(({ path }) =>
    Response.json({ metadata: {}, items: path.includes("ipamblocks") ? [toBlockObject({ ...block, allocations })] : [] }),
  );
  const screen = await screenOf(server, [netplugctl, "ipam", "check"]);
  expect(screen).toContain("\r\x1b[K\x1b[?7lread 2 blocks; looks again at what may be under way in 3 s \x1b[?7h");
  expect(screen).toMatch(/leaked-address .* 10\.65\.0\.0 /);
});

test("a quick one shows nothing", async () => {
  await using server = startSlowServer(0);
  expect(await screenOf(server, [netplugctl, "ipam", "show", "-o", "json"])).toStartWith('{\r\n  "pools": [],');
});

test("nor does any whose stderr is no terminal", async () => {
  await using server = startSlowServer(2_100);
  const { stdout, stderr, exited } = Bun.spawn([netplugctl, "ipam", "show", "-o", "json"], {
    env: { ...process.env, TERM: "xterm", ...envFor(server) },
    stderr: "pipe",
  });
  expect([await new Response(stdout).json(), await new Response(stderr).text(), await exited]).toMatchObject([
    { blocks: [{ cidr: "10.65.0.0/26" }, { cidr: "10.65.0.64/26" }] },
    "",
    0,
  ]);
});
