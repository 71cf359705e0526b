/** Answers to the question what is permitted that a real API server gives only rarely: real ones are in `test/cni/kubernetes-rights.test.ts`. */

import { expect, test } from "bun:test";
import { clientOf, startFakeApiServer, statusAnswer } from "../../test/kube/support/fake-api-server.ts";
import { type Action, findDenial } from "./access-review.ts";
import { PODS } from "./core-types.ts";

const ACTION: Action = { verb: "patch", type: PODS, subresource: "status", namespace: "shop" };
const saying = (status: object | undefined) => () => Response.json({ metadata: {}, status });

test("a denial is told as the refusal of the request would be", async () => {
  await using server = startFakeApiServer(saying({ allowed: false, reason: "no rule" }));
  expect(await findDenial(clientOf(server, { role: "some-role" }), ACTION, {})).toMatchObject({
    code: 108,
    reason: "forbidden",
    message: "patch pods/status is not permitted; role some-role",
    denied: { verb: "patch", resource: "pods/status", namespace: "shop" },
  });
  const asked = server.seen.map(({ method, path, body }) => [method, path, JSON.parse(body) as object]);
  const resourceAttributes = { verb: "patch", group: "", resource: "pods", subresource: "status", namespace: "shop" };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  expect(asked).toEqual([["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { ...review, metadata: {} }]]);
});

test.each<[what: string, answer: () => Response]>([
  ["that it is permitted", saying({ allowed: true })],
  ["that it could not find out", saying({ allowed: false, evaluationError: "webhook timed out" })],
  ["nothing", saying(undefined)],
  ["what is no review", () => new Response("welcome")],
  ["that nobody may ask", () => statusAnswer(403, "Forbidden", "selfsubjectaccessreviews.authorization.k8s.io is forbidden")],
  ["that it serves no reviews", () => statusAnswer(404, "NotFound", "the server could not find the requested resource")],
])("nothing is denied where the API server says %s", async (_what, answer) => {
  await using server = startFakeApiServer(answer);
  expect(await findDenial(clientOf(server), ACTION, { limitMs: 500 })).toBeUndefined();
  expect(server.seen.length).toBeGreaterThan(0);
});
