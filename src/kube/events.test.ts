import { describe, expect, test } from "bun:test";
import type { FakeApiServer } from "../../test/kube/support/fake-api-server.ts";
import { clientOf, startFakeApiServer, statusAnswer } from "../../test/kube/support/fake-api-server.ts";
import type { FakeClock } from "../../test/support/time/fake-clock.ts";
import { fakeClock } from "../../test/support/time/fake-clock.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import type { EventReport, KubeEventObject } from "./events.ts";
import { EventRecorder } from "./events.ts";

const report: EventReport = {
  regarding: { apiVersion: "v1", kind: "Pod", name: "web-0", namespace: "team", uid: "u1" },
  type: "Warning",
  reason: "AddressExhausted",
  action: "AllocateAddress",
  note: "no address left in pool blue",
};

function createRecorder(server: FakeApiServer, clock: FakeClock): { readonly recorder: EventRecorder; readonly errors: string[] } {
  const errors: string[] = [];
  const recorder = new EventRecorder({
    client: clientOf(server, { qps: 0 }, clock),
    clock,
    random: seededRandom(1),
    controller: "netplug.io/controllers",
    instance: "node-1",
    onError: (message) => errors.push(message),
  });
  return { recorder, errors };
}

const echo = (): FakeApiServer => startFakeApiServer(({ body }) => new Response(body));

describe("an event", () => {
  test("is written beside the object that it is about", async () => {
    await using server = echo();
    await createRecorder(server, fakeClock(Date.UTC(2030, 0, 1))).recorder.record(report);
    expect(server.seen[0]?.path).toBe("/apis/events.k8s.io/v1/namespaces/team/events");
    expect(JSON.parse(server.seen[0]?.body ?? "")).toEqual({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: expect.stringMatching(/^web-0\.[0-9a-f]{16,}$/), namespace: "team" },
      eventTime: "2030-01-01T00:00:00.000000Z",
      reportingController: "netplug.io/controllers",
      reportingInstance: "node-1",
      ...report,
    });
  });

  test("about an object without namespace is written in default", async () => {
    await using server = echo();
    const regarding = { apiVersion: "v1", kind: "Node", name: "n" };
    await createRecorder(server, fakeClock()).recorder.record({ ...report, regarding });
    expect(server.seen[0]?.path).toContain("/namespaces/default/");
  });

  test("that happens again is counted, until it has not happened for six minutes", async () => {
    await using server = echo();
    const clock = fakeClock();
    const { recorder } = createRecorder(server, clock);
    await Promise.all([recorder.record(report), recorder.record(report), recorder.record(report)]);
    await clock.advance(5 * 60_000);
    await recorder.record(report);
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "PATCH", "PATCH", "PATCH"]);
    expect(JSON.parse(server.seen[3]?.body ?? "")).toMatchObject({ series: { count: 4 } });
    await clock.advance(6 * 60_000);
    await recorder.record(report);
    expect(server.seen.at(-1)?.method).toBe("POST");
  });

  test("is counted for as long as it goes on, with the time when it was last seen", async () => {
    await using server = echo();
    const clock = fakeClock(Date.UTC(2030, 0, 1));
    const { recorder } = createRecorder(server, clock);
    await recorder.record(report);
    for (const _again of [1, 2, 3]) {
      await clock.advance(5 * 60_000);
      await recorder.record(report);
    }
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "PATCH", "PATCH", "PATCH"]);
    expect(JSON.parse(server.seen[3]?.body ?? "")).toEqual({ series: { count: 4, lastObservedTime: "2030-01-01T00:15:00.000000Z" } });
  });

  test("that the API server has forgotten is written anew", async () => {
    await using server = startFakeApiServer(({ method, body }) =>
      method === "PATCH" ? statusAnswer(404, "NotFound", "gone") : new Response(body),
    );
    const { recorder, errors } = createRecorder(server, fakeClock());
    await recorder.record(report);
    await recorder.record(report);
    expect(server.seen.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
    expect(errors).toEqual([]);
  });

  test.each(["x", "é", "界", "🙂"])(
    "with a note or instance of too many %p is cut to what the API server takes, in bytes",
    async (character) => {
      await using server = echo();
      const client = clientOf(server, { qps: 0 });
      const instance = character.repeat(253);
      const recorder = new EventRecorder({ client, clock: fakeClock(), random: seededRandom(1), controller: "x", instance });
      await recorder.record({ ...report, note: character.repeat(5000) });
      const event = JSON.parse(server.seen[0]?.body ?? "") as KubeEventObject;
      for (const [text, most] of [
        [event.note, 1024],
        [event.reportingInstance, 128],
      ] as const) {
        expect(text).toMatch(new RegExp(`^${character}+…$`, "u"));
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
        expect(Buffer.byteLength(text)).toBeGreaterThan(most - 4);
      }
    },
  );

  test("about an object with a long name has a name that the API server takes", async () => {
    await using server = echo();
    const name = `${"a".repeat(198)}-.${"b".repeat(50)}`;
    await createRecorder(server, fakeClock(1)).recorder.record({ ...report, regarding: { ...report.regarding, name } });
    const { metadata } = JSON.parse(server.seen[0]?.body ?? "") as KubeEventObject;
    expect(metadata.name).toMatch(/^a{198}\.[0-9a-f]+$/);
  });

  test("that cannot be written is said, and throws nothing", async () => {
    await using server = startFakeApiServer(() =>
      statusAnswer(403, "Forbidden", 'cannot create resource "events" in API group "events.k8s.io"'),
    );
    const { recorder, errors } = createRecorder(server, fakeClock());
    await recorder.record(report);
    expect(errors).toEqual(["create events.events.k8s.io is not permitted"]);
  });
});

test("one object gets 25 different events at once, then one in five minutes", async () => {
  await using server = echo();
  const clock = fakeClock();
  const { recorder } = createRecorder(server, clock);
  for (let i = 0; i < 40; i++) await recorder.record({ ...report, note: `note ${i}` });
  expect(server.seen).toHaveLength(25);
  await recorder.record({ ...report, regarding: { ...report.regarding, name: "web-1", uid: "u2" } });
  expect(server.seen).toHaveLength(26);
  await clock.advance(5 * 60_000);
  for (let i = 0; i < 3; i++) await recorder.record({ ...report, note: `later ${i}` });
  expect(server.seen).toHaveLength(27);
});
