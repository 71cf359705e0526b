/** An admission webhook or policy of the cluster that refuses what an ADD writes, with a status of its own choice. */

import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { failureOf } from "../support/failure-of.ts";
import { canStartApiServer } from "../support/servers/api-server.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { durationOf } from "../support/time/duration.ts";
import { add, type Container } from "./attachments.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";

const [test, world] = onApiServer(() => KubernetesWorld.start());

/** Milliseconds: the time that a request has with all its tries, and some; far less than an ADD has. */
const SOON_MS = 10_000;

const NAME = "guard.example.com";
const BLOCK = "010-065-000-000-26";

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string };
}

/** Looks at updates of blocks. */
class Webhook implements AsyncDisposable {
  /** What it refuses with; undefined: it lets pass. */
  refusal: { readonly code: number; readonly message: string; readonly details?: object } | undefined;
  #calls = 0;
  readonly #server: Bun.Server<undefined>;
  readonly #caBundle: string;

  constructor() {
    using certificates = createCertificateFolder();
    const authority = certificates.createAuthority("ca");
    const { certFile, keyFile } = authority.issueServer("webhook");
    this.#caBundle = readFileSync(authority.certFile).toString("base64");
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") },
      fetch: async (request) => {
        this.#calls++;
        const { apiVersion, kind, request: asked } = (await request.json()) as Review;
        const answer = this.refusal === undefined ? { allowed: true } : { allowed: false, status: this.refusal };
        return Response.json({ apiVersion, kind, response: { uid: asked.uid, ...answer } });
      },
    });
  }

  /** Returns when the API server asks it. */
  async register(): Promise<void> {
    const clientConfig = { url: `https://127.0.0.1:${this.#server.port}/`, caBundle: this.#caBundle };
    const rules = [{ apiGroups: ["netplug.io"], apiVersions: ["v3"], operations: ["UPDATE"], resources: ["ipamblocks"] }];
    const webhook = { name: NAME, clientConfig, rules, sideEffects: "None", admissionReviewVersions: ["v1"] };
    const apiVersion = "admissionregistration.k8s.io/v1";
    const configuration = { apiVersion, kind: "ValidatingWebhookConfiguration", metadata: { name: NAME }, webhooks: [webhook] };
    await world.server.kubectl(["apply", "-f", "-"], JSON.stringify(configuration));
    while (this.#calls === 0) await world.server.kubectl(["annotate", "ipamblocks.netplug.io", BLOCK, "a=b", "--dry-run=server"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

let webhook: Webhook;
let pod: Container;

beforeAll(async () => {
  if (!canStartApiServer()) return;
  await world.initialise({ a: { cidr: "10.65.0.0/26" } });
  await add(world.admin, await world.pods.create("first"));
  pod = await world.pods.create("second");
  webhook = new Webhook();
  await webhook.register();
});
afterAll(() => webhook?.[Symbol.asyncDispose]());

const DENIED = `admission webhook "${NAME}" denied the request: not now`;

test.each([
  [400, 108, `refused: ${DENIED}`],
  [401, 108, `refused: ${DENIED}`],
  [403, 108, `refused: ${DENIED}`],
  [404, 108, `refused: ${DENIED}`],
  [409, 108, `refused: ${DENIED}`],
  [410, 108, `refused: ${DENIED}`],
  [500, 11, `the API server answers 500: ${DENIED}`],
  [503, 11, `the API server answers 503: ${DENIED}`],
])("with %i is code %i in its own words, soon: nothing was written (needs cluster)", async (code, ours, words) => {
  webhook.refusal = { code, message: "not now" };
  const took = await durationOf(async () => {
    const message = `update ipamblocks.netplug.io "${BLOCK}": ${words}`;
    expect(await failureOf(add(world.admin, pod))).toMatchObject({ code: ours, message });
  });
  expect(took).toBeLessThan(SOON_MS);
});

const WORDS = [
  [403, 'secrets "x" is forbidden: User "w" cannot get resource "secrets" in API group ""', "refused: "],
  [422, 'IPAMBlock "x" is invalid: spec.node: Invalid value: "n1": no', "not valid: "],
] as const;

test.each(WORDS)("with %i and words %p, which others have for something else, is named (needs cluster)", async (code, message, how) => {
  webhook.refusal = { code, message, details: { causes: [{ field: "spec.node", message: 'Invalid value: "n1": no' }] } };
  const failure = await failureOf(add(world.admin, pod));
  const words = `update ipamblocks.netplug.io "${BLOCK}": ${how}admission webhook "${NAME}" denied the request: ${message}`;
  expect(failure).toMatchObject({
    code: 108,
    message: expect.stringMatching(new RegExp(`^${RegExp.escape(words)}(; an admission rule |$)`)),
  });
});

test("that lets pass again stops nothing (needs cluster)", async () => {
  webhook.refusal = undefined;
  expect(await add(world.admin, pod)).toEqual(["10.65.0.1"]);
});

test("a policy that calls it too large is named, and code 108 (needs cluster)", async () => {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const resourceRules = [{ apiGroups: ["netplug.io"], apiVersions: ["v3"], operations: ["UPDATE"], resources: ["ipamblocks"] }];
  const spec = {
    matchConstraints: { resourceRules },
    validations: [{ expression: "false", message: "not now", reason: "RequestEntityTooLarge" }],
  };
  const policy = { apiVersion, kind: "ValidatingAdmissionPolicy", metadata: { name: "guard" }, spec };
  const ofBinding = { policyName: "guard", validationActions: ["Deny"] };
  const binding = { apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata: { name: "guard" }, spec: ofBinding };
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: [policy, binding] });
  await world.server.kubectl(["apply", "-f", "-"], list);
  try {
    while (await passes()) await Bun.sleep(20);
    const refused = `refused: ipamblocks.netplug.io "${BLOCK}" is forbidden: ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not now`;
    const message = `update ipamblocks.netplug.io "${BLOCK}": ${refused}`;
    expect(await failureOf(add(world.admin, await world.pods.create("third")))).toMatchObject({ code: 108, message });
  } finally {
    await world.server.kubectl(["delete", "-f", "-"], list);
    while (!(await passes())) await Bun.sleep(20);
  }
});

/** Whether the API server would take an update of the block. */
async function passes(): Promise<boolean> {
  try {
    await world.server.kubectl(["annotate", "ipamblocks.netplug.io", BLOCK, "a=b", "--dry-run=server"]);
    return true;
  } catch {
    return false;
  }
}
