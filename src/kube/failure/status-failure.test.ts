import { describe, expect, test } from "bun:test";
import { PODS } from "../core-types.ts";
import { toRequest } from "../request.ts";
import type { KubeError } from "../kube-error.ts";
import type { Verb } from "../request.ts";
import { toAnswerFailure, toEventFailure } from "./status-failure.ts";

const POOLS = { group: "netplug.io", version: "v3", plural: "ippools", kind: "IPPool", isNamespaced: false };
const CONTEXT = { identity: 'token of user "u" in kubeconfig "/k"', role: "netplug-cni", renewal: "renew it" };

function failure(verb: Verb, status: number, body: object | string, retryAfter?: string, type = PODS): KubeError {
  const target = { ...(type === PODS && { namespace: "d" }), name: "web" };
  const text = typeof body === "string" ? body : JSON.stringify({ kind: "Status", status: "Failure", code: status, ...body });
  return toAnswerFailure(toRequest(verb, type, target, {}), { status, body: text, retryAfter, now: Date.UTC(2030, 0, 1) }, CONTEXT);
}

describe("a refusal", () => {
  test("for lack of a role names verb, resource and role", () => {
    const message = 'pods "web" is forbidden: User "u" cannot patch resource "pods/status" in API group "" in the namespace "d"';
    expect(failure("patch", 403, { reason: "Forbidden", message })).toMatchObject({
      code: 108,
      reason: "forbidden",
      message: "patch pods/status is not permitted; role netplug-cni",
      details: message,
      denied: { verb: "patch", resource: "pods/status", namespace: "d" },
    });
  });

  test.each([
    ["impersonate", "users", ""],
    ["impersonate:user-info", "users", "authentication.k8s.io"],
    ["impersonate-on:user-info:list", "pods", ""],
  ])("of an impersonation says so, in the words of each version: %s", (verb, resource, group) => {
    const message = `${resource} "jane" is forbidden: User "u" cannot ${verb} resource "${resource}" in API group "${group}" at the cluster scope`;
    const name = group === "" ? resource : `${resource}.${group}`;
    expect(failure("list", 403, { reason: "Forbidden", message }, undefined, POOLS)).toMatchObject({
      code: 108,
      message: `${verb} ${name} is not permitted; "as" of the kubeconfig asks to impersonate: permit that, or leave "as" out`,
      details: message,
      denied: undefined,
    });
  });

  test("of whom the API server does not know says so, and what was shown, but for those who ask to act as nobody", () => {
    const said = (verb: string) => `pods "web" is forbidden: User "system:anonymous" cannot ${verb} resource "pods" in API group ""`;
    const shown = "the API server counts the client certificate of the settings as system:anonymous";
    for (const [verb, actsAs, message] of [
      ["get", undefined, `get pods is not permitted; role netplug-cni; ${shown}`],
      [
        "impersonate",
        "jane",
        `impersonate pods is not permitted; "as" of the kubeconfig asks to impersonate: permit that, or leave "as" out; ${shown}`,
      ],
      ["get", "system:anonymous", "get pods is not permitted; role netplug-cni"],
    ] as const) {
      const answer = { status: 403, body: JSON.stringify({ kind: "Status", message: said(verb) }), retryAfter: undefined, now: 0 };
      const context = { identity: "client certificate of the settings", actsAs, role: "netplug-cni" };
      expect(toAnswerFailure(toRequest("get", PODS, { namespace: "d", name: "web" }, {}), answer, context).message).toEqual(message);
    }
  });

  test("names the group where there is one", () => {
    const message =
      'ippools.netplug.io "web" is forbidden: User "u" cannot get resource "ippools" in API group "netplug.io" at the cluster scope';
    expect(failure("get", 403, { message }, undefined, POOLS)).toMatchObject({
      message: "get ippools.netplug.io is not permitted; role netplug-cni",
      denied: { verb: "get", resource: "ippools.netplug.io", namespace: undefined },
    });
  });

  test("of an apply that would create says so, although Kubernetes 1.31 does not", () => {
    const message = 'ippools.netplug.io "web" is forbidden: ';
    expect(failure("patch", 403, { reason: "Forbidden", message }, undefined, POOLS)).toMatchObject({
      message: "create ippools.netplug.io is not permitted; role netplug-cni",
      denied: { verb: "create", resource: "ippools.netplug.io", namespace: undefined },
    });
    expect(failure("delete", 403, { reason: "Forbidden", message }, undefined, POOLS).denied).toBeUndefined();
  });

  test("of a read is one of permissions, in whatever words", () => {
    expect(failure("list", 403, "<html>no</html>", undefined, POOLS)).toMatchObject({
      code: 108,
      message: "list ippools.netplug.io is not permitted; role netplug-cni",
      details: expect.stringContaining("no"),
    });
  });

  test("for another reason says that reason", () => {
    expect(failure("create", 403, { message: 'pods "web" is forbidden: exceeded quota: q' })).toMatchObject({
      code: 108,
      denied: undefined,
      message: 'create pods "d/web": refused: pods "web" is forbidden: exceeded quota: q',
    });
  });

  test("of the credentials says which they are, and what to do where the caller knows", () => {
    expect(failure("get", 401, { reason: "Unauthorized", message: "Unauthorized" })).toMatchObject({
      code: 108,
      reason: "unauthorized",
      message: 'get pods "d/web": the API server does not accept the token of user "u" in kubeconfig "/k"; renew it',
    });
  });
});

test("404 is an object that is not there, or a path that nobody serves", () => {
  expect(failure("patch", 404, { reason: "NotFound", message: 'pods "web" not found' })).toMatchObject({ reason: "notFound", status: 404 });
  expect(failure("get", 404, "404 page not found\n", undefined, POOLS)).toMatchObject({
    reason: "notServed",
    code: 112,
    message: 'get ippools.netplug.io "web": the API server does not serve ippools.netplug.io in version netplug.io/v3',
  });
  const notFound = { reason: "NotFound", message: "the server could not find the requested resource" };
  expect(failure("list", 404, notFound, undefined, POOLS).reason).toBe("notServed");
});

test("404 to a question about core objects is nothing that an API server says: no CRD is missing there", () => {
  for (const [verb, body] of [
    ["get", "404 page not found\n"],
    ["patch", "404 page not found\n"],
    ["list", { reason: "NotFound", message: "the server could not find the requested resource" }],
  ] as const) {
    const error = failure(verb, 404, body);
    expect(error).toMatchObject({ reason: "unexpected", code: 5 });
    expect(error.message).toEndWith("; is what answers there an API server?");
  }
});

test.each(["<html>default backend - 404</html>", "", "404 page not found (proxy)"])(
  "404 of which an API server would use other words (%j) does not say that a CRD is missing",
  (body) => {
    for (const verb of ["get", "list", "patch"] as const) {
      expect(failure(verb, 404, body, undefined, POOLS)).toMatchObject({ reason: "unexpected", code: 5 });
    }
  },
);

test("409 is a name that is taken, or another revision", () => {
  expect(failure("create", 409, { reason: "AlreadyExists", message: "x" })).toMatchObject({ reason: "alreadyExists", code: 11 });
  expect(failure("update", 409, { reason: "Conflict", message: "x" })).toMatchObject({
    reason: "conflict",
    code: 11,
    isOutcomeUnknown: false,
  });
});

test.each([
  ["create", "", "alreadyExists"],
  ["update", "", "conflict"],
  ["patch", "", "conflict"],
  ["create", "Conflict", "conflict"],
] as const)("409 to %s with the reason %p is %s", (verb, reason, expected) => {
  expect(failure(verb, 409, { ...(reason !== "" && { reason }), message: "x" }).reason).toBe(expected);
});

test("JSON that is no Status says nothing: what it is an answer of is no API server", () => {
  const body = '{"error": "no upstream"}';
  expect(failure("get", 404, body, undefined, POOLS).reason).toBe("unexpected");
  expect(failure("update", 422, body).reason).toBe("unexpected");
  expect(failure("get", 502, body).message).toBe(`get pods "d/web": the API server answers 502: ${body}`);
});

test.each([[{}], [{ code: "410" }]])("an event of a watch that tells of a failure without its code (%j) is one to try again", (object) => {
  expect(toEventFailure(toRequest("watch", PODS, {}, {}), object, CONTEXT)).toMatchObject({ reason: "serverFault", status: 500 });
});

test("another UID is another object, however the API server says so", () => {
  const causes = [{ reason: "FieldValueInvalid", message: "field is immutable", field: "metadata.uid" }];
  expect(failure("patch", 422, { reason: "Invalid", message: "x", details: { causes } })).toMatchObject({
    reason: "otherObject",
    code: 11,
  });
  const more = [{ reason: "FieldValueInvalid", message: "field is immutable", field: "metadata.name" }, ...causes];
  expect(failure("patch", 422, { reason: "Invalid", message: "x", details: { causes: more } }).reason).toBe("otherObject");
  expect(failure("patch", 422, { reason: "Invalid", message: "x", details: { causes: more.slice(0, 1) } }).reason).toBe("invalid");
  expect(failure("create", 422, { reason: "Invalid", message: "x", details: { causes } }).reason).toBe("invalid");
  for (const message of [
    'Operation cannot be fulfilled on Pod "web": the UID in the precondition (a) does not match the UID in record (b).',
    'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, AdditionalErrorMsg: Precondition failed: UID in precondition: a, UID in object meta: b',
  ]) {
    expect(failure("delete", 409, { reason: "Conflict", message }).reason).toBe("otherObject");
  }
});

test('410 has the reason "expired"', () => {
  expect(failure("list", 410, { reason: "Expired", message: "too old" }).reason).toBe("expired");
});

test("422 lists what is not valid", () => {
  const causes = [
    { reason: "FieldValueInvalid", message: "Invalid value: 33: too long", field: "spec.blockSize" },
    { reason: "FieldValueInvalid", message: "cidr must not change", field: "" },
  ];
  expect(failure("update", 422, { reason: "Invalid", message: "all of it", details: { causes } }, undefined, POOLS)).toMatchObject({
    reason: "invalid",
    message: 'update ippools.netplug.io "web": not valid: spec.blockSize: Invalid value: 33: too long; cidr must not change',
    causes: [
      { field: "spec.blockSize", message: "Invalid value: 33: too long" },
      { field: "", message: "cidr must not change" },
    ],
  });
});

test.each([400, 405, 413, 418, 422])("%i to a read, or without a word why, is no API server's, and says so", (status) => {
  expect(failure("get", status, "<html>sorry</html>")).toMatchObject({
    code: 5,
    reason: "unexpected",
    message: `get pods "d/web": the API server answers ${status}: <html>sorry</html>; is what answers there an API server?`,
  });
  expect(failure("list", status, { reason: "Invalid", message: "x" }).code).toBe(5);
  expect(failure("update", status, "<html>sorry</html>").code).toBe(5);
  expect(failure("update", 418, { message: "x" }).code).toBe(5);
});

describe("the time to wait", () => {
  test.each([
    ["2", 2000],
    ["0", 0],
    ["Tue, 01 Jan 2030 00:00:05 GMT", 5000],
    ["Mon, 31 Dec 2029 00:00:00 GMT", 0],
    ["soon", undefined],
    [undefined, undefined],
  ])("in a header %p is %p ms", (header, ms) => {
    expect(failure("get", 429, { message: "x" }, header).retryAfterMs).toBe(ms);
  });

  test("is our own while the server starts, which takes less than it says", () => {
    const filling = { reason: "TooManyRequests", message: "storage is (re)initializing", details: { retryAfterSeconds: 1 } };
    expect(failure("list", 429, filling, "1")).toMatchObject({ reason: "throttled", retryAfterMs: undefined });
    const message = "the request has been made before all known HTTP paths have been installed, please try again";
    const unserved = { reason: "ServiceUnavailable", message, details: { retryAfterSeconds: 5 } };
    expect(failure("create", 503, unserved, "5")).toMatchObject({
      reason: "serverFault",
      retryAfterMs: undefined,
      isOutcomeUnknown: false,
    });
  });

  test("may stand in the Status", () => {
    expect(failure("get", 500, { message: "x", details: { retryAfterSeconds: 1 } }).retryAfterMs).toBe(1000);
  });

  test.each([0, -5, "5", null])("is unknown when the Status has %p", (retryAfterSeconds) => {
    expect(failure("get", 500, { message: "x", details: { retryAfterSeconds } }).retryAfterMs).toBeUndefined();
  });
});

test.each([
  ["get", 500, undefined, false],
  ["create", 500, undefined, true],
  ["create", 500, "1", true],
  ["create", 504, undefined, true],
  ["create", 503, undefined, true],
  ["create", 503, "1", false],
  ["create", 429, undefined, false],
  ["get", 408, undefined, false],
  ["create", 408, undefined, true],
  ["patch", 422, undefined, false],
] as const)("after %s that is answered %i (Retry-After: %p) the outcome is unknown: %p", (verb, status, header, unknown) => {
  expect(failure(verb, status, { message: "x" }, header).isOutcomeUnknown).toBe(unknown);
});

test("a write for which a webhook could not be called was surely not done", () => {
  const called =
    'failed calling webhook "a.example.com": failed to call webhook: Post "https://a.shop.svc:443/?timeout=10s": connection refused';
  const answer = { reason: "InternalError", message: `Internal error occurred: ${called}` };
  for (const verb of ["create", "update", "patch", "delete"] as const) {
    expect(failure(verb, 500, answer)).toMatchObject({ code: 11, reason: "serverFault", isOutcomeUnknown: false });
  }
  expect(failure("update", 500, answer).message).toEndWith("connection refused");
  // what is converted is what was stored
  const converted = "conversion webhook for example.com/v1, Kind=X failed: connection refused";
  expect(failure("update", 500, { ...answer, message: `Internal error occurred: ${converted}` }).isOutcomeUnknown).toBe(true);
});

test.each([
  [400, "forbidden", 108],
  [401, "forbidden", 108],
  [404, "forbidden", 108],
  [409, "forbidden", 108],
  [410, "forbidden", 108],
  [413, "forbidden", 108],
  [422, "invalid", 999],
  [429, "throttled", 11],
  [500, "serverFault", 11],
  [503, "serverFault", 11],
])("a webhook that refuses a write with %i has refused it, whatever that means of others: %s", (status, reason, code) => {
  for (const message of [
    'admission webhook "a.b.c" denied the request: no',
    'admission webhook "a.b.c" denied the request without explanation',
  ])
    for (const verb of ["create", "update", "patch", "delete"] as const)
      expect(failure(verb, status, { message })).toMatchObject({ reason, code, isOutcomeUnknown: false, denied: undefined });
});

test.each([401, 403, 413])("a policy of admission that refuses with %i has refused it, too", (status) => {
  const message = `pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`;
  const refused = { reason: "forbidden", code: 108, denied: undefined, message: `patch pods "d/web": refused: ${message}` };
  expect(failure("patch", status, { message })).toMatchObject(refused);
});

test("what a webhook was denied itself is not denied to us", () => {
  const message =
    'admission webhook "a.b.c" denied the request: secrets "x" is forbidden: User "w" cannot get resource "secrets" in API group ""';
  for (const status of [403, 400]) {
    const refused = { reason: "forbidden", denied: undefined, message: `patch pods "d/web": refused: ${message}` };
    expect(failure("patch", status, { reason: "Forbidden", message })).toMatchObject(refused);
  }
});

test("a webhook that calls the object not valid is named in its own words", () => {
  const message = 'admission webhook "a.b.c" denied the request: Pod "web" is invalid: spec.x: Invalid value: 1: too small';
  const causes = [{ field: "spec.x", message: "Invalid value: 1: too small" }];
  expect(failure("update", 422, { message, details: { causes } }).message).toBe(`update pods "d/web": not valid: ${message}`);
});

test("what a proxy answers is shown on one line, without control characters, and cut", () => {
  const { message } = failure("get", 502, `<html>\r\n\u001b[31m${"x".repeat(5000)}`);
  expect(message).toStartWith('get pods "d/web": the API server answers 502: <html> [31mxxx');
  expect(message.length).toBeLessThan(1200);
});
