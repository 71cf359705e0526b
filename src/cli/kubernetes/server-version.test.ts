import { expect, test } from "bun:test";
import { startFakeApiServer, statusAnswer } from "../../../test/kube/support/fake-api-server.ts";
import { runInProcess } from "../../../test/support/cli/in-process.ts";

test("init leaves a Kubernetes alone that is too old for the definitions", async () => {
  await using api = startFakeApiServer(({ path }) =>
    path === "/version" ? Response.json({ gitVersion: "v1.30.14" }) : statusAnswer(404, "NotFound", `${path} not found`),
  );
  const env = { DATASTORE_TYPE: "kubernetes", K8S_API_ENDPOINT: api.url, K8S_API_TOKEN: "t" };
  const { status, stdout, stderr } = await runInProcess(["init"], { env });
  const fault = "apply custom resource definitions: the API server is of version v1.30.14, want v1.31 or later";
  expect([status, stdout, stderr]).toEqual([1, "", expect.stringContaining(`netplugctl: ${fault}\n`)]);
  expect(api.seen.filter(({ method }) => method !== "GET")).toEqual([]);
});
