/** `ipam check` on a real API server: addresses under another main plugin, such as `ptp`, leak when their pod is gone, and never before. */

import { describe, expect } from "bun:test";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { readIpamProblems } from "../support/cli/ipam-report.ts";
import { giveAddress, reportStatus, runWithRecord, shareWorldOfPods } from "../support/cli/pod-addresses.ts";
import { failureOf } from "../support/failure-of.ts";
import { createNode, createPod, deletePod, type TestPod } from "../support/servers/kubernetes.ts";

const [test, world] = shareWorldOfPods();

const IP = "10.65.0.7";
const MIRROR = { "kubernetes.io/config.mirror": "0f2a" };

const run = (name: string, otherAnnotations = {}): Promise<TestPod> =>
  createPod(world.api, { name, namespace: "prod", spec: { nodeName: "n1" }, otherAnnotations });

/** As an ADD of netplug-ipam leaves it; with an endpoint, one of netplug. */
async function give({ name, namespace, uid }: TestPod, node = "n1", agoMs = 120_000, endpoint?: string): Promise<void> {
  await allocateFor(world.datastore, `c-${name}`, node, {
    address: IP,
    owner: { pod: name, namespace, podUID: uid, ...(endpoint !== undefined && { endpoint }) },
    agoMs,
  });
}

const leak = (pod: string, why: string) =>
  expect.stringMatching(
    new RegExp(
      `^leaked-address 10\\.65\\.0\\.7: allocated to pod "prod/${pod}" \\(.*Z under another main plugin, and that pod is gone${why}$`,
    ),
  );

test.each(["n1", "rack-7"])("a pod is there, on a node that calls itself %s, and then it is gone (needs cluster)", async (node) => {
  const pod = await run("web-0");
  await give(pod, node);
  expect(await readIpamProblems(world)).toEqual([]); // its kubelet has not heard of the address yet
  await reportStatus(world, "web-0", IP);
  expect(await readIpamProblems(world)).toEqual([]);
  await deletePod(world.api, pod);
  expect(await readIpamProblems(world)).toEqual([leak("web-0", "")]);
  expect(await world.done(["ipam", "show", `--ip=${IP}`])).toContain("\nbut that pod is gone\n");
  const { stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
  expect(await world.done(["ipam", "release", "--from-report=-"], { stdin: stdout })).toEndWith("released 1 of 1 leaked address\n");
  expect(await readIpamProblems(world)).toEqual([]);
});

test("a pod that was made anew under the same name does not have the address of the former one (needs cluster)", async () => {
  const pod = await run("web-0");
  await give(pod);
  await deletePod(world.api, pod);
  await run("web-0");
  expect(await readIpamProblems(world)).toEqual([leak("web-0", ", and another one has its name")]);
  const { stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
  // It gets the same address meanwhile.
  await world.done(["ipam", "release", `--ip=${IP}`]);
  await deletePod(world.api, pod);
  await give(await run("web-0"), "n1", 0);
  expect(await readIpamProblems(world)).toEqual([]);
  expect((await world.ctl(["ipam", "release", "--from-report=-"], { stdin: stdout })).stderr).toContain(`${IP} left: it is not leaked`);
  expect(await world.done(["ipam", "show", `--ip=${IP}`])).not.toContain("but ");
});

test("an address that was given just now is left, for an ADD may be under way (needs cluster)", async () => {
  const pod = await run("web-0");
  // For what is younger than 20 s the check waits.
  await give(pod, "n1", 20_000);
  await deletePod(world.api, pod);
  const { stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
  expect(await world.ctl(["ipam", "release", "--from-report=-"], { stdin: stdout })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`${IP} left: it was given less than a minute ago`),
  });
});

/** What the node controller says of `n2`. */
async function reportNode(status: "True" | "Unknown"): Promise<void> {
  const conditions = [{ type: "Ready", status, lastTransitionTime: "2026-01-02T03:04:05Z" }];
  await world.api.kubectl([
    "patch",
    "node",
    "n2",
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify({ status: { conditions } }),
  ]);
}

test.each([undefined, "n2-k8s-web--0-eth0"])(
  "while nothing is heard of its node, a container may run on whose pod was deleted by force, with the endpoint %p (needs cluster)",
  async (endpoint) => {
    await createNode(world.api, "n2", []);
    await reportNode("Unknown");
    const pod = await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n2" } });
    await give(pod, "n2", 120_000, endpoint);
    await deletePod(world.api, pod);
    const release = async () => {
      const { stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
      return await world.ctl(["ipam", "release", "--from-report=-"], { stdin: stdout });
    };
    const silence = "; its node has not reported since 2026-01-02T03:04:05Z, so its container may run on";
    expect(await readIpamProblems(world)).toContainEqual(expect.stringContaining(silence));
    expect((await world.ctl(["ipam", "check"])).stderr).toBe(
      "next: wait for the nodes that do not report, or delete each that is gone for good: kubectl delete node NODE\n",
    );
    expect(await release()).toMatchObject({
      status: 1,
      stdout: "released 0 of 1 leaked address\n",
      stderr: expect.stringContaining(`${IP} left: its node does not report`),
    });
    expect(await world.done(["ipam", "show", `--ip=${IP}`])).toContain("prod/web-0");

    // What the node shows is not written to it.
    await world.done(["label", "node", "n2", "rack=7"]);
    expect(await world.api.kubectl(["get", "node", "n2", "-o", "jsonpath={.metadata.labels.rack} {.metadata.annotations}"])).toBe("7 ");
    expect(await world.ctl(["ipam", "release", `--ip=${IP}`])).toMatchObject({
      status: 0,
      stderr:
        'warning: node "n2" has not reported since 2026-01-02T03:04:05Z, so the container may run on; before the address is given again, see that it has ended\n',
    });
    await give(pod, "n2", 120_000, endpoint);
    await (endpoint === undefined ? reportNode("True") : world.api.kubectl(["delete", "node", "n2"]));
    expect(await readIpamProblems(world)).not.toContainEqual(expect.stringContaining("reported since"));
    expect((await world.ctl(["ipam", "check"])).stderr).toContain("ipam release --from-report=-\n");
    expect(await release()).toMatchObject({ stdout: expect.stringContaining("released 1 of 1 leaked address\n") });
    await world.api.kubectl(["delete", "node", "n2", "--ignore-not-found"]);
  },
);

describe("of a static pod no address is called leaked:", () => {
  const kept = (node: string) => `allocated to pod "prod/kept-${node}"`;

  test.each([
    ["under another main plugin, on its node", "n1", undefined],
    ["under another main plugin, on a node that calls itself otherwise than Kubernetes does", "rack-7", undefined],
    ["with an endpoint", "n1", "n1-k8s-kept--n1-eth0"],
  ])("neither while it has no mirror, nor when it has another one, %s (needs cluster)", async (_where, node, endpoint) => {
    const mirror = await run("kept-n1", MIRROR);
    await give(mirror, node, 120_000, endpoint);
    await deletePod(world.api, mirror);
    expect(await readIpamProblems(world)).toEqual([]);
    await run("kept-n1", MIRROR);
    expect(await readIpamProblems(world)).toEqual([]);
    await reportStatus(world, "kept-n1", IP);
    expect(await readIpamProblems(world)).toEqual([]);
    expect(await world.done(["ipam", "show", `--ip=${IP}`])).not.toContain("but ");
  });

  test.each([undefined, "n2-k8s-kept--n2-eth0"])("but when its node is gone, with the endpoint %p (needs cluster)", async (endpoint) => {
    await createNode(world.api, "n2", []);
    const mirror = await run("kept-n2", MIRROR);
    await give(mirror, "n2", 120_000, endpoint);
    await deletePod(world.api, mirror);
    expect(await readIpamProblems(world)).toEqual([]);
    await world.api.kubectl(["delete", "node", "n2"]);
    expect(await readIpamProblems(world)).toContainEqual(expect.stringContaining(`leaked-address ${IP}: ${kept("n2")}`));
  });

  test("but of one that is only called after another node (needs cluster)", async () => {
    await createNode(world.api, "n2", []);
    const pod = await run("kept-n2");
    await give(pod, "n1");
    await deletePod(world.api, pod);
    expect(await readIpamProblems(world)).toEqual([leak("kept-n2", "")]);
    await world.api.kubectl(["delete", "node", "n2"]);
  });
});

test("nobody knows whether a container without a pod is gone (needs cluster)", async () => {
  await allocateFor(world.datastore, "c1", "n1", { address: IP, agoMs: 120_000 });
  expect(await readIpamProblems(world)).toEqual([]);
});

test("whoever releases the address of a pod that is there is warned (needs cluster)", async () => {
  await give(await run("web-0"));
  await reportStatus(world, "web-0", IP);
  expect((await world.ctl(["ipam", "release", `--ip=${IP}`])).stderr).toBe(
    `warning: pod "prod/web-0" still has ${IP}; unless its container "c-web-0" has ended, end that workload before the address is given again\n`,
  );
});

test("whoever releases an address for which a pod waits in its next container is told when that need not end (needs cluster)", async () => {
  await runWithRecord(world, "web-0", "n1", await giveAddress(world, "web-0", "n1", IP));
  const begin = (): Promise<string> => giveAddress(world, "web-0", "n1", IP, "c2");
  const { kind, message } = await failureOf(begin());
  expect([kind, message]).toEqual(["addressInUse", expect.stringContaining(`netplugctl ipam release --ip=${IP}`)]);
  expect((await world.ctl(["ipam", "release", `--ip=${IP}`])).stderr).toBe(
    `warning: workloadendpoint "prod/n1-k8s-web--0-eth0" still has ${IP}; unless its container "c-web-0" has ended, end that workload before the address is given again\n`,
  );
  expect(await begin()).toBe(IP);
});
