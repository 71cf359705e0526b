/** One fault at every request that an ADD or DEL of the built plugin makes on the Kubernetes datastore: nothing leaks. */

import { describe, expect } from "bun:test";
import type { Fate } from "../support/servers/fault-proxy.ts";
import { type CniReply, hostInterfaceName } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { createPod, deletePod, type TestPod } from "../support/servers/kubernetes.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { readPodRecords } from "../support/servers/pod-records.ts";
import { startProxiedNode } from "./support/proxied-node.ts";

const POD = { namespace: "default", name: "victim" } as const;
const BLOCKS = "/apis/netplug.io/v3/ipamblocks";

const [test, { api, node, proxy }] = onApiServer(() => startProxiedNode(["10.65.0.0/24"]));

const makePod = (): Promise<TestPod> => createPod(api, { name: POD.name, spec: { nodeName: "node-a" } });
const removePod = (): Promise<void> => deletePod(api, POD);

/** What there is of attachments: by the API server, and by `ip`. */
async function look(): Promise<{ readonly allocated: readonly string[]; readonly recorded: string; readonly link: string | undefined }> {
  const blocks = await api.mustRequest<{ readonly items: readonly { readonly spec: { readonly allocations: string } }[] }>("GET", BLOCKS);
  const [record] = await readPodRecords(api);
  return {
    allocated: blocks.items.flatMap(({ spec }) => {
      const { allocations } = JSON.parse(spec.allocations) as { readonly allocations: readonly (readonly unknown[])[] };
      return allocations.map((one) => String(one[2]));
    }),
    recorded: record?.addresses.join(",") ?? "",
    link: nodePlace.link(hostInterfaceName({ namespace: POD.namespace, pod: POD.name }))?.ifalias,
  };
}

const NOTHING = { allocated: [], recorded: "", link: undefined };

/** Lets something happen before the request of this number, once. */
function at(number: number, fate: Fate, before?: () => Promise<unknown>): void {
  let count = 0;
  proxy.decide = async () => {
    if (++count !== number) return "pass";
    await before?.();
    return fate;
  };
}

interface Victim {
  readonly containerID: string;
  readonly netns: string;
  readonly args: string;
  readonly config: Json;
}

/** Plays one call on a fresh pod; the pod is gone afterwards, whatever happens. */
async function withVictim(play: (victim: Victim, netns: TestNetns) => Promise<void>): Promise<void> {
  using netns = new TestNetns();
  const { args } = await makePod();
  const config = node.config({ kubernetes: { k8s_api_root: proxy.url } });
  proxy.decide = () => "pass";
  try {
    await play({ containerID: node.newContainerID(), netns: netns.path, args, config }, netns);
  } finally {
    proxy.decide = () => "pass";
    await removePod();
  }
}

const call = async (verb: "ADD" | "DEL", victim: Victim): Promise<CniReply> => await node.call(verb, victim);

/** How many requests a call makes when nothing happens, after what was done before it. */
async function requestsOf(verb: "ADD" | "DEL", prepare: () => Promise<void>): Promise<number> {
  let requests = 0;
  await withVictim(async (victim) => {
    await prepare();
    if (verb === "DEL") await call("ADD", victim);
    proxy.seen.length = 0;
    expect((await call(verb, victim)).status).toBe(0);
    requests = proxy.seen.length;
    if (verb === "ADD") await call("DEL", victim);
  });
  return requests;
}

/** Nobody has a block: the next ADD claims one. */
const withoutBlock = async (): Promise<void> => void (await api.mustRequest("DELETE", BLOCKS));
const asItIs = (): Promise<void> => Promise.resolve();

const FATES: readonly [what: string, fate: Fate][] = [
  ["loses its reply", "lose-reply"],
  ["loses its connection", "lose-request"],
  ["is answered 401", { status: 401, reason: "Unauthorized" }],
  ["is answered 403", { status: 403, reason: "Forbidden" }],
  ["is answered 409", { status: 409, reason: "Conflict" }],
  ["is answered 410", { status: 410, reason: "Expired" }],
  ["is answered 422", { status: 422, reason: "Invalid" }],
  ["is answered 429", { status: 429, reason: "TooManyRequests", retryAfter: "0" }],
  ["is answered 500", { status: 500, reason: "InternalError" }],
  ["is answered 503", { status: 503, reason: "ServiceUnavailable", retryAfter: "0" }],
  ["is answered with nonsense", { status: 418, message: "<html>" }],
];

/** Those of which the plugin cannot know what became of the request. */
const UNCERTAIN = FATES.filter(([, fate]) => typeof fate === "string" || fate.status === 500);

describe.each([
  ["that claims a block", withoutBlock, FATES],
  ["in its own block", asItIs, UNCERTAIN],
] as const)("an ADD %s, when one request", (_what, prepare, fates) => {
  test.each(fates)("%s, succeeds or leaves nothing; and DEL takes away what it made (needs cluster)", async (_fate, fate) => {
    const requests = await requestsOf("ADD", prepare);
    expect(requests).toBeGreaterThan(5);
    for (let number = 1; number <= requests; number++) {
      await withVictim(async (victim, netns) => {
        await prepare();
        at(number, fate);
        const { status, json } = await call("ADD", victim);
        const seen = { number, status, code: json?.code, ...(await look()) };
        const address = json?.ips?.[0]?.address ?? "";
        const wanted = status === 0 ? { allocated: [victim.containerID], recorded: address } : NOTHING;
        expect(seen).toMatchObject({ number, ...wanted });
        if (status !== 0) expect([5, 11, 106, 108, 112]).toContain(json?.code ?? 0);
        expect(netns.link("eth0") === undefined).toBe(status !== 0);
        proxy.decide = () => "pass";
        expect((await call("DEL", victim)).stdout).toBe("");
        expect({ number, ...(await look()) }).toEqual({ number, ...NOTHING });
      });
    }
  });
});

test.each(FATES)("a DEL, when one request %s, does what is here; it or the next one does the rest (needs cluster)", async (_fate, fate) => {
  const requests = await requestsOf("DEL", asItIs);
  expect(requests).toBeGreaterThan(3);
  for (let number = 1; number <= requests; number++) {
    await withVictim(async (victim, netns) => {
      expect((await call("ADD", victim)).status).toBe(0);
      at(number, fate);
      const { status, json } = await call("DEL", victim);
      expect({ number, link: netns.link("eth0"), host: (await look()).link }).toEqual({ number, link: undefined, host: undefined });
      if (status === 0) expect({ number, ...(await look()) }).toEqual({ number, ...NOTHING });
      else expect([5, 11, 108, 112]).toContain(json?.code ?? 0);
      proxy.decide = () => "pass";
      expect((await call("DEL", victim)).stdout).toBe("");
      expect({ number, ...(await look()) }).toEqual({ number, ...NOTHING });
    });
  }
});

describe("a pod", () => {
  const moments: readonly [what: string, happens: () => Promise<unknown>][] = [
    ["deleted", removePod],
    [
      "deleted and made anew",
      async () => {
        await removePod();
        await makePod();
      },
    ],
  ];

  test.each(moments)(
    "%s before any request of its ADD is never stamped with what is not its own (needs cluster)",
    async (_what, happens) => {
      const requests = await requestsOf("ADD", withoutBlock);
      for (let number = 1; number <= requests; number++) {
        await withVictim(async (victim, netns) => {
          await withoutBlock();
          at(number, "pass", happens);
          const { status, json } = await call("ADD", victim);
          proxy.decide = () => "pass";
          const seen = await look();
          // before the pod is looked at, or before it is recorded: never after
          expect({ number, status, code: json?.code }).toEqual({ number, status: 1, code: 106 });
          expect({ number, ...seen }).toEqual({ number, ...NOTHING });
          expect(netns.link("eth0")).toBeUndefined();
          expect((await call("DEL", victim)).stdout).toBe("");
        });
      }
    },
  );

  test.each(moments)("%s before any request of its DEL releases everything (needs cluster)", async (_what, happens) => {
    const requests = await requestsOf("DEL", asItIs);
    for (let number = 1; number <= requests; number++) {
      await withVictim(async (victim) => {
        expect((await call("ADD", victim)).status).toBe(0);
        at(number, "pass", happens);
        const { status, stdout } = await call("DEL", victim);
        proxy.decide = () => "pass";
        expect({ number, status, stdout }).toEqual({ number, status: 0, stdout: "" });
        expect({ number, ...(await look()) }).toEqual({ number, ...NOTHING });
      });
    }
  });
});

test("a pod that is made anew while its ADD loses the race for a block is not stamped either (needs cluster)", async () => {
  await withVictim(async (victim, netns) => {
    expect((await call("ADD", victim)).status).toBe(0);
    expect((await call("DEL", victim)).status).toBe(0);
    let hasLost = false;
    proxy.decide = async ({ method, resource }): Promise<Fate> => {
      if (hasLost || method !== "PUT" || !resource.startsWith("ipamblocks/")) return "pass";
      hasLost = true;
      await api.kubectl(["annotate", "ipamblocks", "--all", "example.org/changed=yes"]);
      await removePod();
      await makePod();
      return "pass";
    };
    const { status, json } = await call("ADD", victim);
    expect([hasLost, status, json?.code]).toEqual([true, 1, 106]);
    expect([await look(), netns.link("eth0")]).toEqual([NOTHING, undefined]);
  });
});
