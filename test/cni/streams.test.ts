/** Streams and files that are not what they should be: closed, full, endless, binary, a FIFO, a folder. */

import { describe, expect, test } from "bun:test";
import { closeSync, constants, mkdirSync, openSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";
import { type CommandResult, runProgram } from "../support/programs/programs.ts";

const node = share(
  () => TestNode.start(["10.65.0.0/24"]),
  (node) => {
    Bun.spawnSync(["mkfifo", join(node.folder, "fifo"), join(node.folder, "unread")]);
    mkdirSync(join(node.folder, "folder"));
    symlinkSync(join(node.folder, "loop"), join(node.folder, "loop"));
  },
);

/** Calls the plugin from a shell, which redirects as told; `CONFIG` is the file with the network config, 3 a pipe whose reader is gone. */
async function callWith(
  redirections: string,
  pod: TestNetns,
  containerID: string,
  verb = "ADD",
  plugin = "netplug",
): Promise<CommandResult> {
  const file = join(node.folder, "config.json");
  writeFileSync(file, JSON.stringify(node.config()));
  return await runProgram(["bash", "-c", `exec 3> >(:); wait $!; ${distFolder}/${plugin} ${redirections.replaceAll("CONFIG", file)}`], {
    env: { CNI_COMMAND: verb, CNI_CONTAINERID: containerID, CNI_NETNS: pod.path, CNI_IFNAME: "eth0", CNI_PATH: distFolder },
  });
}

describe("stdin", () => {
  test.each([
    ["closed", "<&-", 6],
    ["empty", "</dev/null", 6],
    ["a folder", "</tmp", 5],
    ["endless", "</dev/zero", 5],
  ])("that is %s is an error: code %p", async (_what, redirection, code) => {
    using pod = new TestNetns();
    const { status, stdout } = await callWith(redirection, pod, "none");
    expect([status, (JSON.parse(stdout) as Json)["code"]]).toEqual([1, code]);
  });

  test.each<[what: string, encode: (text: string) => Buffer]>([
    ["UTF-16", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
    ["cut inside a character", (text) => Buffer.from(text.replace('"test-net"', '"test-net","x":"é"'), "latin1")],
  ])("in %s is code 6", async (_what, encode) => {
    using pod = new TestNetns();
    const file = join(node.folder, "bytes");
    writeFileSync(file, encode(JSON.stringify(node.config())));
    const { status, stdout } = await callWith(`<${file}`, pod, "none");
    expect([status, (JSON.parse(stdout) as Json)["code"]]).toEqual([1, 6]);
  });

  test("with a byte order mark is accepted", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    await node.add(pod, { containerID, config: `\ufeff${JSON.stringify(node.config())}` });
    expect(pod.addresses("eth0")).toHaveLength(1);
    await node.del({ containerID, netns: pod.path });
  });
});

/** A FIFO that is full, and that nobody reads. */
function fillUnread(): { readonly path: string } & Disposable {
  const path = join(node.folder, "unread");
  const unread = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  expect(() => {
    for (;;) writeSync(unread, Buffer.alloc(4096));
  }).toThrow("EAGAIN");
  return { path, [Symbol.dispose]: () => closeSync(unread) };
}

/** Redirections after which nothing can be written, and what the kernel says. */
const UNWRITABLE = [
  ["is closed", "<CONFIG >&-", "EBADF"],
  ["is full", "<CONFIG >/dev/full", "ENOSPC"],
  ["is a pipe without a reader", "<CONFIG >&3", "EPIPE"],
] as const;

describe("stdout", () => {
  describe.each(UNWRITABLE)("that %s", (_what, redirections, errno) => {
    const complaint = `write answer: write "stdout": ${errno}`;

    test.each(["netplug", "netplug-ipam"])(
      "makes an ADD of %s fail, which says so on stderr and takes back what it did",
      async (plugin) => {
        using pod = new TestNetns();
        const containerID = node.newContainerID();
        const { status, stderr } = await callWith(redirections, pod, containerID, "ADD", plugin);
        expect([status, stderr]).toEqual([1, expect.stringContaining(`${plugin}: ${complaint}`)]);
        expect([pod.link("eth0"), await node.addressesInUse(), await node.endpoints()]).toEqual([undefined, 0, []]);
      },
    );

    test("makes an ADD that is repeated fail, and what the first one made stays until a DEL", async () => {
      using pod = new TestNetns();
      const containerID = node.newContainerID();
      const first = await node.add(pod, { containerID });
      expect((await callWith(redirections, pod, containerID)).status).toBe(1);
      expect(pod.addresses("eth0")).toEqual([first.ips?.[0]?.address ?? ""]);
      await node.del({ containerID, netns: pod.path });
      expect(await node.addressesInUse()).toBe(0);
    });

    test("makes a repeated ADD of netplug-ipam fail, and its address stays until a DEL", async () => {
      using pod = new TestNetns();
      const call = { plugin: "netplug-ipam", containerID: node.newContainerID(), netns: pod.path };
      await node.add(pod, call);
      expect((await callWith(redirections, pod, call.containerID, "ADD", call.plugin)).status).toBe(1);
      expect(await node.addressesInUse()).toBe(1);
      await node.del(call);
      expect(await node.addressesInUse()).toBe(0);
    });

    test("makes VERSION fail", async () => {
      using pod = new TestNetns();
      const { status, stderr } = await callWith(redirections, pod, "none", "VERSION");
      expect([status, stderr]).toEqual([1, expect.stringContaining(complaint)]);
    });

    test("is no failure of a verb that has nothing to say, and one of a verb that has", async () => {
      using pod = new TestNetns();
      expect((await callWith(redirections, pod, "none", "DEL")).status).toBe(0);
      const { status, stderr } = await callWith(redirections, pod, "none", "CHECK");
      expect([status, stderr]).toEqual([1, expect.stringContaining(complaint)]);
    });
  });

  test.each([
    ["ADD", "netplug", 10],
    ["ADD", "netplug-ipam", 10],
    ["CHECK", "netplug", 1],
    ["VERSION", "netplug-ipam", 1],
  ])(
    "that is full, and that nobody reads, makes a %s of %s fail after %i s, and an ADD takes back what it did",
    async (verb, plugin, seconds) => {
      using pod = new TestNetns();
      using unread = fillUnread();
      const began = performance.now();
      const { status, stderr } = await callWith(`<CONFIG >${unread.path}`, pod, node.newContainerID(), verb, plugin);
      expect([status, stderr]).toEqual([1, expect.stringMatching(new RegExp(`${plugin}: write answer: .*: nobody reads it`))]);
      expect(Math.floor((performance.now() - began) / 1000)).toBeWithin(seconds, seconds + 4);
      expect([pod.link("eth0"), await node.addressesInUse(), await node.endpoints()]).toEqual([undefined, 0, []]);
    },
  );

  test.each([["</dev/null"], ["<CONFIG"]])("that was opened as /dev/null is written to, with stdin %s", async (stdin) => {
    using pod = new TestNetns();
    expect((await callWith(`${stdin} 1<>/dev/null`, pod, "none", "VERSION")).status).toBe(0);
  });

  test("gets a result that is larger than a pipe, read slowly", async () => {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    const interfaces = Array.from({ length: 4000 }, (_, i) => ({ name: `${"x".repeat(60)}${i}` }));
    writeFileSync(join(node.folder, "large.json"), JSON.stringify(node.config({ prevResult: { cniVersion: "1.1.0", interfaces } })));
    const { status, stdout } = await callWith(`<${join(node.folder, "large.json")} | { sleep 0.2; cat; }`, pod, containerID);
    expect([status, ((JSON.parse(stdout) as Json)["interfaces"] as readonly unknown[]).length]).toEqual([0, 4002]);
    await node.del({ containerID, netns: pod.path });
  });
});

test.each([
  ["closed", "2>&-"],
  ["full", "2>/dev/full"],
])("stderr that is %s changes nothing", async (_what, redirection) => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const { status, stdout } = await callWith(`<CONFIG ${redirection}`, pod, containerID);
  expect([status, (JSON.parse(stdout) as Json)["cniVersion"]]).toEqual([0, "1.1.0"]);
  await node.del({ containerID, netns: pod.path });
});

test.each(["ADD", "DEL"])("stderr that is full, and that nobody reads, holds up no %s", async (verb) => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  using unread = fillUnread();
  const { status } = await callWith(`<CONFIG 2>${unread.path}`, pod, containerID, verb);
  expect(status).toBe(0);
  await node.del({ containerID, netns: pod.path });
});

describe("paths of the config", () => {
  test.each([["fifo"], ["folder"], ["loop"], ["/dev/full"], ["/proc/nowhere/cni.log"], ["missing/folders/../cni.log"]])(
    "a log file that is %p fails no ADD, and stderr has the lines",
    async (name) => {
      using pod = new TestNetns();
      const containerID = node.newContainerID();
      const config = node.config({ log_file_path: name.startsWith("/") ? name : join(node.folder, name) });
      const reply = await node.call("ADD", { containerID, netns: pod.path, config });
      expect([reply.status, reply.stderr]).toEqual([0, expect.stringContaining("INFO ledger")]);
      await node.del({ containerID, netns: pod.path, config });
    },
  );

  test.each([
    ["folder", 5],
    ["loop", 5],
    ["/dev/zero", 5],
    ["/proc/self/mem", 5],
  ])("a node name file that is %p is an error: code %p", async (name, code) => {
    using pod = new TestNetns();
    const file = name.startsWith("/") ? name : join(node.folder, name);
    const config = node.config({ nodename: "", nodename_file: file });
    const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: pod.path, config });
    expect([reply.status, reply.json?.code, reply.json?.msg]).toEqual([1, code, expect.stringContaining(file)]);
    expect(await node.addressesInUse()).toBe(0);
  });

  test.each([["fifo"], ["folder"], ["loop"]])("CNI_NETNS that is %p is code 8", async (name) => {
    const reply = await node.call("ADD", { containerID: node.newContainerID(), netns: join(node.folder, name) });
    expect([reply.status, reply.json?.code]).toEqual([1, 8]);
    expect(await node.addressesInUse()).toBe(0);
  });

  test("CNI_NETNS by a link, or with dots in it, is the namespace that it names", async () => {
    using pod = new TestNetns();
    const link = join(node.folder, "netns");
    symlinkSync(pod.path, link);
    for (const netns of [link, pod.path.replace("/run/", "/run/../run/./")]) {
      const containerID = node.newContainerID();
      const result = await node.add(pod, { containerID, netns });
      expect(pod.addresses("eth0")).toEqual([result.ips?.[0]?.address ?? ""]);
      await node.del({ containerID, netns });
      expect(pod.link("eth0")).toBeUndefined();
    }
  });
});

test("without log_file_path there is no file, whatever the level", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = node.config({ log_file_path: undefined });
  const before = node.logLines().length;
  const reply = await node.call("ADD", { containerID, netns: pod.path, config });
  expect([reply.status, reply.stderr]).toEqual([0, expect.stringContaining("INFO ledger")]);
  await node.del({ containerID, netns: pod.path, config });
  expect(node.logLines()).toHaveLength(before);
});

test("every line of the log names the sandbox, and the pod where the runtime names one", async () => {
  using pod = new TestNetns();
  const [named, nameless] = [node.newContainerID(), node.newContainerID()];
  const args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=blue;K8S_POD_NAME=web-0";
  await node.add(pod, { containerID: named, args });
  await node.del({ containerID: named, netns: pod.path, args });
  await node.del({ containerID: nameless, netns: pod.path });
  const linesOf = (containerID: string): object[] => node.logLines().filter((line) => line["containerID"] === containerID);
  expect(linesOf(named).length).toBeGreaterThanOrEqual(2);
  for (const line of linesOf(named)) expect(line).toMatchObject({ pod: "blue/web-0" });
  expect(linesOf(nameless).length).toBeGreaterThanOrEqual(1);
  for (const line of linesOf(nameless)) expect(line).not.toHaveProperty("pod");
});

test.each(["ADD", "DEL", "STATUS"] as const)(
  "a %s that may not make memory executable, as systemd can forbid, answers why",
  async (verb) => {
    using pod = new TestNetns();
    // The same to the runtime: without its compiler it cannot call the C library.
    const { status, json } = await node.call(verb, { containerID: "none", netns: pod.path, env: { BUN_JSC_useJIT: "0" } });
    expect([status, json?.code, json?.msg]).toEqual([
      1,
      5,
      expect.stringMatching(/load C library "libc\.so\.6": .*MemoryDenyWriteExecute, LimitAS, LimitDATA of systemd/),
    ]);
  },
);
