/** Answers that no API server gives, as something gives them that stands where one is expected. */

import { describe, expect, test } from "bun:test";
import { clientOf, startFakeApiServer } from "../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../test/support/failure-of.ts";
import { NODES } from "./core-types.ts";
import { KubeError } from "./kube-error.ts";

const NODE = { metadata: { name: "n" } };

describe("JSON that is no object of the Kubernetes API is no answer:", () => {
  test.each(["null", "5", '"text"', "[]", "{}", '{"metadata":null}', '{"metadata":[]}', '{"kind":"Status","status":"Failure","code":500}'])(
    "%s",
    async (answer) => {
      await using server = startFakeApiServer(() => new Response(answer));
      const client = clientOf(server);
      const words = "the answer is no object of the Kubernetes API; is there an API server?";
      expect(await failureOf(client.get(NODES, { name: "n" }))).toMatchObject({
        code: 11,
        message: `get nodes "n": ${words}`,
        isOutcomeUnknown: false,
      });
      expect(await failureOf(client.list(NODES))).toMatchObject({ code: 11, message: `list nodes: ${words}` });
      expect(await failureOf(client.create(NODES, NODE))).toMatchObject({ code: 11, isOutcomeUnknown: true });
      expect(await failureOf(client.delete(NODES, { name: "n" }))).toMatchObject({ code: 11, isOutcomeUnknown: true });
    },
  );

  test.each(['"text"', "{}", "[null]", "[{}]", '[{"metadata":{}},{"metadata":"x"}]'])("a list of %s", async (items) => {
    await using server = startFakeApiServer(() => new Response(`{"metadata":{"resourceVersion":"1"},"items":${items}}`));
    const message = "list nodes: the answer is no list; is there an API server?";
    expect(await failureOf(clientOf(server).list(NODES))).toMatchObject({ code: 11, message });
  });
});

test.each(["<html>welcome</html>", "null", "[]", ""])("the answer %j to /version is refused: no API server gives it", async (answer) => {
  await using server = startFakeApiServer(() => new Response(answer));
  expect(await failureOf(clientOf(server).getPath("/version"))).toMatchObject({
    code: 11,
    message: expect.stringMatching(/^get \/version: the answer is no JSON(?: object)?; is there an API server\?$/) as string,
  });
});

test("a failure whose words never end is read as far as anybody needs it", async () => {
  let sentBytes = 0;
  const piece = new TextEncoder().encode("no ".repeat(20_000));
  await using server = startFakeApiServer(() => {
    const body = new ReadableStream({
      async pull(controller) {
        sentBytes += piece.length;
        // Whoever reads on is not waited for without end.
        if (sentBytes > 200_000_000) controller.close();
        else controller.enqueue(piece);
        await Bun.sleep(0);
      },
    });
    return new Response(body, { status: 404 });
  });
  const failure = await failureOf(clientOf(server).list(NODES), KubeError);
  expect(failure).toMatchObject({ reason: "unexpected", status: 404 });
  expect(sentBytes).toBeLessThan(50_000_000);
});
