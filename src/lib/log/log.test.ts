import { expect, test } from "bun:test";
import { jsonSink, textSink, toJsonLine, toTextLine } from "./format.ts";
import { createLog } from "./log.ts";
import type { Fields, LogRecord } from "./log.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const clock = { now: () => NOON };

function collect(level: LogRecord["level"], fields: Fields = {}): { log: ReturnType<typeof createLog>; lines: string[] } {
  const lines: string[] = [];
  return { log: createLog({ clock, level, sinks: [textSink((line) => lines.push(line))], fields }), lines };
}

test.each([
  ["ERROR", ["ERROR"]],
  ["WARNING", ["ERROR", "WARNING"]],
  ["INFO", ["ERROR", "WARNING", "INFO"]],
  ["DEBUG", ["ERROR", "WARNING", "INFO", "DEBUG"]],
] as const)("a log of level %s writes %j", (level, written) => {
  const { log, lines } = collect(level);
  log.error("m");
  log.warning("m");
  log.info("m");
  log.debug("m");
  expect(lines.map((line) => line.split(" ")[1])).toEqual([...written]);
});

test("a text line has time, level, message and quoted fields", () => {
  const { log, lines } = collect("INFO", { containerID: "abc" });
  log.info("interface added", { ifName: "eth0", mtu: 1500, ips: ["10.0.0.1", "fd00::1"], done: true, absent: undefined });
  expect(lines).toEqual([
    '2026-11-21T12:00:00.000Z INFO interface added containerID="abc" ifName="eth0" mtu="1500" ips="10.0.0.1 fd00::1" done="true"',
  ]);
});

test("a JSON line has time, level and msg that no field can replace", () => {
  const lines: string[] = [];
  const log = createLog({ clock, level: "INFO", sinks: [jsonSink((line) => lines.push(line))], fields: { containerID: "abc" } });
  log.warning("gate\nnot ready", { msg: "forged", level: "ERROR", tries: 3, phaseMs: { kernel: 1.5 } });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    time: "2026-11-21T12:00:00.000Z",
    level: "WARNING",
    msg: "gate\nnot ready",
    containerID: "abc",
    tries: 3,
    phaseMs: { kernel: 1.5 },
  });
});

test("a hostile text stays on one line and drives no terminal", () => {
  const hostile = "a\nb\r\u001b[31mc\u0000\u009b2J\u2028d\u202ee\u007f\u{e0001}é🚀";
  const record: LogRecord = { time: NOON, level: "INFO", msg: hostile, fields: { [hostile]: hostile, list: [hostile] } };
  for (const line of [toTextLine(record), toJsonLine(record)]) {
    // oxlint-disable-next-line no-control-regex -- these are what must not be there
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e\u{e0001}]/u);
    expect(line).toContain("é🚀");
  }
  expect(JSON.parse(toJsonLine(record))).toMatchObject({ msg: hostile, [hostile]: hostile });
});

// one place alone: what is clean elsewhere is not looked at twice
test.each<[string, string, Fields]>([
  ["the message", "got password=hunter2", {}],
  ["a text", "m", { note: "token: hunter2" }],
  ["a list", "m", { list: ["a", "secret=hunter2"] }],
  ["a field's name", "m", { etcd_password: "hunter2" }],
])("a secret does not get in as part of %s alone", (_place, msg, fields) => {
  const { log, lines } = collect("INFO");
  log.info(msg, fields);
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("hunter2");
});

test("an object that came past the type checker is not written out", () => {
  const { log, lines } = collect("INFO");
  log.info("m", {
    pod: { spec: { deep: "hidden" }, plain: "hidden", size: 3 } as unknown as Record<string, number>,
    none: null as unknown as string,
  });
  expect(lines[0]).not.toContain("hidden");
});
