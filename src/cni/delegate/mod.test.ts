import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { delegateCall, delegatePorts as ports } from "../../../test/support/calls/delegate.ts";
import { failureOf } from "../../../test/support/failure-of.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock, Processes } from "../../lib/ports.ts";
import { toErrorOutput } from "../protocol/error-output.ts";
import { delegateAdd, delegateCheck, delegateDel, delegateGc, delegateStatus } from "./mod.ts";
import type { Delegate } from "./mod.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "npgt-delegate-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function call(type: string, config: Record<string, unknown> = {}, options: { cniPath?: string; timeoutMs?: number } = {}): Delegate {
  return delegateCall(type, config, { cniPath: folder, ...options });
}

/** A delegate made of shell; `$CALLS` is a file with one line for each verb that it was called with. */
function script(name: string, body: string): { type: string; calls: () => string[] } {
  const calls = join(folder, `${name}.calls`);
  writeFileSync(join(folder, name), `#!/bin/sh\nCALLS=${calls}\necho $CNI_COMMAND >> $CALLS\n${body}\n`, { mode: 0o755 });
  return { type: name, calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []) };
}

const RESULT = '{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.2/24"}]}';

describe("finding a delegate", () => {
  test("takes the first executable file of the name along CNI_PATH", async () => {
    const [empty, blocked, good] = ["empty", "blocked", "good"].map((name) => join(folder, name)) as [string, string, string];
    for (const each of [empty, blocked, good]) mkdirSync(each);
    writeFileSync(join(blocked, "finder"), "#!/bin/sh\n", { mode: 0o644 });
    mkdirSync(join(empty, "finder"));
    writeFileSync(join(good, "finder"), `#!/bin/sh\necho '${RESULT}'\n`, { mode: 0o755 });
    const result = await delegateAdd(call("finder", {}, { cniPath: `${empty}::${blocked}/:${good}:${folder}` }));
    expect(result.ips).toEqual([{ address: "10.0.0.2/24" }]);
  });

  test("names the folders when none has it, and calls nothing", async () => {
    const failure = await failureOf(delegateAdd(call("absent", {}, { cniPath: "/opt/a:/opt/b" })));
    expect(failure.code).toBe(111);
    expect(failure.message).toBe(
      'find delegate "absent": no executable file of that name in "/opt/a", "/opt/b" (CNI_PATH); install it there',
    );
  });

  test.each(["", ".", "..", "../host-local", "a/b", "a\0b"])("a name that is no file name is refused: %p", async (type) => {
    expect((await failureOf(delegateAdd(call(type)))).code).toBe(7);
  });

  test.each(["netplug", "netplugctl", "kubectl-netplug"])(
    "this plugin itself is refused, before it calls itself without end: %p",
    async (type) => {
      const executable = { isExecutableFile: () => true };
      expect(await failureOf(delegateAdd({ ...call(type), ports: ports({ files: executable }) }))).toMatchObject({
        code: 7,
        message: `find delegate: got "ipam.type" "${type}", which is no IPAM plugin; want "netplug-ipam"`,
      });
      expect(await failureOf(delegateDel({ ...call(type), ports: ports({ files: executable }) }))).toMatchObject({ code: 7 });
    },
  );

  test("a missing CNI_PATH is code 4", async () => {
    expect(await failureOf(delegateDel(call("any", {}, { cniPath: "" })))).toMatchObject({ code: 4 });
  });
});

test("a delegate gets our environment with its own verb and CNI_ARGS that it can read, and the config on stdin", async () => {
  const { type } = script("echo", `cat > ${folder}/echo.stdin; env > ${folder}/echo.env; echo '${RESULT}'`);
  const attachment = call(type, { ipam: { type, anything: [1] } });
  await delegateCheck(attachment);
  expect(JSON.parse(readFileSync(join(folder, "echo.stdin"), "utf8"))).toEqual(attachment.config);
  const environment = Object.fromEntries(
    readFileSync(join(folder, "echo.env"), "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  );
  expect(environment).toMatchObject({ ...attachment.environment, CNI_COMMAND: "CHECK", CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAME=web" });
});

test("CNI_ARGS that say what to do about unknown keys stay as they are", async () => {
  const { type } = script("args", `echo "$CNI_ARGS" > ${folder}/args.said`);
  const attachment = call(type);
  await delegateDel({ ...attachment, environment: { ...attachment.environment, CNI_ARGS: "A=1;IgnoreUnknown=0" } });
  expect(readFileSync(join(folder, "args.said"), "utf8")).toBe("A=1;IgnoreUnknown=0\n");
});

test("a delegate is not run when the time is over", async () => {
  const { type, calls } = script("late", "exit 0");
  expect(await failureOf(delegateDel(call(type, {}, { timeoutMs: 0 })))).toMatchObject({ code: 11 });
  expect(calls()).toEqual([]);
});

describe("a delegate that fails an ADD gets a DEL", () => {
  test.each([
    [
      "code",
      `[ $CNI_COMMAND = DEL ] || { echo '{"code":7,"msg":"bad range","details":"of mine"}'; exit 1; }`,
      "failed: bad range",
      "code 7: bad range; of mine",
    ],
    ["code-zero-exit", `[ $CNI_COMMAND = DEL ] || echo '{"code":102,"msg":"gone"}'`, "failed: gone", "code 102: gone"],
    ["stderr", "[ $CNI_COMMAND = DEL ] || { echo oops >&2; exit 3; }", "failed: exit status 3, oops", "exit status 3, oops"],
    ["silent", "[ $CNI_COMMAND = DEL ] || exit 3", "exit status 3, and no word why", "exit status 3, and no word why"],
    ["garbage", "[ $CNI_COMMAND = DEL ] || echo 'not json'", 'read result of ADD by delegate "garbage": line 1, column 1', undefined],
    ["nothing", "exit 0", "got nothing, want JSON", undefined],
    ["list", "[ $CNI_COMMAND = DEL ] || echo '[]'", "got an empty list, want an object", undefined],
    ["no-address", "[ $CNI_COMMAND = DEL ] || echo '{\"ips\":[]}'", "got no address, want at least one", undefined],
    ["bad-address", '[ $CNI_COMMAND = DEL ] || echo \'{"ips":[{"address":7}]}\'', "ips[0].address: got 7, want address/length", undefined],
  ])("%s", async (name, body, message, details) => {
    const { type, calls } = script(name, body);
    const failure = await failureOf(delegateAdd(call(type)));
    expect(failure.code).toBe(111);
    expect(failure.message).toContain(message);
    expect(failure.details).toBe(details);
    expect(calls()).toEqual(["ADD", "DEL"]);
  });

  test("and is asked again when it complains of the container, for which an ended ADD had got addresses", async () => {
    const { type, calls } = script(
      "forgetful",
      `case $CNI_COMMAND in DEL) touch ${folder}/freed; exit;; esac
       [ -f ${folder}/freed ] && echo '${RESULT}' && exit
       echo "{\\"code\\":999,\\"msg\\":\\"10.0.0.2 has been allocated to $CNI_CONTAINERID\\"}"; exit 1`,
    );
    expect((await delegateAdd(call(type))).ips).toHaveLength(1);
    expect(calls()).toEqual(["ADD", "DEL", "ADD"]);
  });

  test("but not more than once", async () => {
    const { type, calls } = script(
      "obstinate",
      `[ $CNI_COMMAND = DEL ] || { echo "{\\"code\\":9,\\"msg\\":\\"no $CNI_CONTAINERID\\"}"; exit 1; }`,
    );
    expect((await failureOf(delegateAdd(call(type)))).message).toContain("no container-1");
    expect(calls()).toEqual(["ADD", "DEL", "ADD", "DEL"]);
  });

  test("its own failure is told and does not hide the first one", async () => {
    const { type, calls } = script("stubborn", `echo "{\\"code\\":9,\\"msg\\":\\"no $CNI_COMMAND\\"}"; exit 1`);
    const used = ports();
    expect((await failureOf(delegateAdd({ ...call(type), ports: used }))).message).toBe(
      'ADD by delegate "stubborn" failed: no ADD (left behind: addresses of delegate "stubborn": DEL by delegate "stubborn" failed: no DEL)',
    );
    expect(used.records).toMatchObject([{ level: "WARNING", fields: { error: expect.stringContaining("no DEL") } }]);
    expect(calls()).toEqual(["ADD", "DEL"]);
  });

  test("also when it did not end in time, and the DEL has time of its own", async () => {
    const { type, calls } = script("slow", "[ $CNI_COMMAND = DEL ] || exec sleep 60");
    const failure = await failureOf(delegateAdd(call(type, {}, { timeoutMs: 200 })));
    expect(failure.code).toBe(11);
    expect(failure.message).toMatch(/not done within \d+ ms, ended it/);
    expect(calls()).toEqual(["ADD", "DEL"]);
  });
});

test("an executable that the kernel cannot run is code 111, with the reason", async () => {
  writeFileSync(join(folder, "noise"), "neither script nor program", { mode: 0o755 });
  const failure = await failureOf(delegateDel(call("noise")));
  expect(failure.code).toBe(111);
  expect(failure.message).toBe('DEL by delegate "noise": it cannot be run');
  // What is printed shows the causes as details.
  expect(toErrorOutput(failure).details).toContain("ENOEXEC");
});

test("code 11 of a delegate says that the same call may succeed later", async () => {
  const { type } = script("later", `echo '{"code":11,"msg":"busy"}'; exit 1`);
  expect(await failureOf(delegateDel(call(type)))).toMatchObject({ code: 111, retriable: true });
});

test("a secret in what a delegate prints does not get into the error", async () => {
  const { type } = script("leaky", `echo '{"code":5,"msg":"cannot log in with password=hunter2secret"}'; exit 1`);
  const failure = await failureOf(delegateDel(call(type)));
  expect(`${failure.message} ${failure.details}`).not.toContain("hunter2secret");
});

describe("a delegate that does not know a verb", () => {
  test.each([1, 4])("is no failure of GC and STATUS when it answers code %p", async (code) => {
    const { type, calls } = script(`unknown-${code}`, `echo '{"code":${code},"msg":"unknown"}'; exit 1`);
    await delegateGc(call(type));
    await delegateStatus(call(type));
    expect(calls()).toEqual(["GC", "STATUS"]);
  });

  test("is none either when it complains of something else first, and its versions are older than the verb", async () => {
    const { type, calls } = script(
      "older",
      `case $CNI_COMMAND in VERSION) echo '{"supportedVersions":["0.4.0","1.0.0"]}';; *) echo '{"code":3,"msg":"missing containerID"}'; exit 1;; esac`,
    );
    await delegateGc(call(type));
    await delegateStatus(call(type));
    expect(calls()).toEqual(["GC", "VERSION", "STATUS", "VERSION"]);
  });

  test.each([
    [50, 50],
    [51, 51],
    [999, 50],
  ])("STATUS with code %p is our code %p, with the delegate's reason", async (theirs, ours) => {
    const { type } = script(`status-${theirs}`, `echo '{"code":${theirs},"msg":"no space"}'; exit 1`);
    const failure = await failureOf(delegateStatus(call(type)));
    expect(failure).toMatchObject({ code: ours, details: `code ${theirs}: no space` });
    expect(failure.message).toContain("no space");
  });

  test("STATUS of a delegate that is not installed is code 50", async () => {
    expect(await failureOf(delegateStatus(call("not-there")))).toMatchObject({
      code: 50,
      message: expect.stringContaining("find delegate"),
    });
  });

  test("GC that fails for another reason is a failure", async () => {
    const { type } = script("gc-broken", `echo '{"code":5,"msg":"disk"}'; exit 1`);
    expect(await failureOf(delegateGc(call(type)))).toMatchObject({ code: 111, details: "code 5: disk" });
  });

  test("CHECK is left out when both know only versions without it", async () => {
    const { type, calls } = script(
      "old",
      `case $CNI_COMMAND in VERSION) echo '{"supportedVersions":["0.3.1","0.2.0"]}';; *) echo '{"code":1,"msg":"incompatible"}'; exit 1;; esac`,
    );
    expect(await delegateCheck(call(type))).toBe(false);
    expect(calls()[1]).toBe("VERSION");
  });

  test("another version is agreed on for everything in the config, prevResult too", async () => {
    const { type } = script(
      "middle",
      `case $CNI_COMMAND in VERSION) echo '{"supportedVersions":["0.4.0","0.3.1","7.0.0"]}'; exit;; esac
       config=$(cat); case $config in *1.1.0*) echo '{"code":1,"msg":"incompatible"}'; exit 1;; esac; echo "$config" > ${folder}/middle.stdin`,
    );
    const prevResult = { cniVersion: "1.1.0", interfaces: [{ name: "eth0", mtu: 1500 }], ips: [{ address: "10.0.0.2/24", interface: 0 }] };
    await delegateCheck(call(type, { cniVersion: "1.1.0", prevResult }));
    expect(JSON.parse(readFileSync(join(folder, "middle.stdin"), "utf8"))).toMatchObject({
      cniVersion: "0.4.0",
      prevResult: { cniVersion: "0.4.0", interfaces: [{ name: "eth0" }], ips: [{ version: "4", address: "10.0.0.2/24", interface: 0 }] },
    });
  });

  test("code 1 stays a failure when no version is common", async () => {
    const { type, calls } = script(
      "alien",
      `case $CNI_COMMAND in VERSION) echo '{"supportedVersions":["9.9.9"]}';; *) echo '{"code":1,"msg":"incompatible"}'; exit 1;; esac`,
    );
    expect(await failureOf(delegateDel(call(type)))).toMatchObject({ code: 111, details: "code 1: incompatible" });
    expect(calls()).toEqual(["DEL", "VERSION"]);
  });
});

describe("an executable that is being written", () => {
  const busy = new NetplugError("ioFailure", 'start "/x": text file busy', {
    cause: Object.assign(new Error("spawn"), { code: "ETXTBSY" }),
  });

  /** A clock whose sleeps take no time, and remembers them. */
  function sleepless(): Clock & { slept: number[] } {
    let time = 0;
    const slept: number[] = [];
    const sleep = (ms: number): Promise<void> => {
      slept.push(ms);
      time += ms;
      return Promise.resolve();
    };
    return { now: () => time, monotonic: () => time, sleep, slept };
  }

  test("is called again after a pause", async () => {
    const clock = sleepless();
    let runs = 0;
    const run: Processes["run"] = () => (++runs < 3 ? Promise.reject(busy) : Promise.resolve({ status: 0, stdout: "", stderr: "" }));
    const attachment = { ...call("any"), deadline: startDeadline(clock, 1000) };
    await delegateDel({ ...attachment, ports: ports({ clock, processes: { run }, files: { isExecutableFile: () => true } }) });
    expect(clock.slept).toEqual([50, 100]);
  });

  test("is given up on after a bounded time", async () => {
    const clock = sleepless();
    const attachment = { ...call("any"), deadline: startDeadline(clock, 60_000) };
    const used = ports({ clock, processes: { run: () => Promise.reject(busy) }, files: { isExecutableFile: () => true } });
    expect(await failureOf(delegateDel({ ...attachment, ports: used }))).toMatchObject({ code: 111, cause: busy });
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(5000);
  });

  test("is met in reality: a script held open for writing", async () => {
    const path = join(folder, "held");
    writeFileSync(path, readFileSync("/bin/true"), { mode: 0o755 });
    chmodSync(path, 0o755);
    const writer = Bun.spawn(["/bin/sh", "-c", `exec 3>>${path}; echo open; read line`], { stdin: "pipe", stdout: "pipe" });
    await writer.stdout.getReader().read();
    const { processes } = ports();
    let refusals = 0;
    const run: Processes["run"] = async (request) => {
      try {
        return await processes.run(request);
      } catch (thrown) {
        if (++refusals === 1) {
          void writer.stdin.end();
          await writer.exited;
        }
        throw thrown;
      }
    };
    await delegateDel({ ...call("held"), ports: ports({ processes: { run } }) });
    expect(refusals).toBe(1);
  });
});
