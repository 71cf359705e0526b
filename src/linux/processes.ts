/** Running other programs. */

import { NetplugError } from "../lib/errors.ts";
import type { Processes, ProcessRequest, ProcessResult } from "../lib/ports.ts";
import { quote } from "../lib/quote.ts";

/** Limit for stdout and for stderr each; a program that writes more is killed. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Milliseconds to read on after a program has ended, for its children. */
const LINGER_MS = 100;

/** The real ones. A program that runs too long, or writes without end, is killed together with what it has started. */
export const linuxProcesses: Processes = { run };

/** Process groups of what runs just now. */
const running = new Set<number>();

/** Kills all running programs before this process ends: in their own process groups, they get no signal from our terminal. */
export function endProcesses(): void {
  for (const group of running) endGroup(group);
}

function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

async function run(request: ProcessRequest): Promise<ProcessResult> {
  const child = start(request);
  const ended = new AbortController();
  running.add(child.pid);
  try {
    const work = collect(child, ended.signal);
    const result = await Promise.race([work, timeOut(request.timeoutMs, ended.signal)]);
    if (result === "timeout") {
      throw new NetplugError("tryAgainLater", `run ${quote(request.command)}: not done within ${request.timeoutMs} ms, ended it`);
    }
    return result;
  } catch (thrown) {
    endGroup(child.pid);
    throw thrown;
  } finally {
    running.delete(child.pid);
    ended.abort();
  }
}

type Child = Bun.Subprocess<Uint8Array, "pipe", "pipe">;

function start({ command, args = [], env, stdin = "" }: ProcessRequest): Child {
  hearOfChildren();
  try {
    return Bun.spawn([command, ...args], {
      env: { ...env },
      stdin: new TextEncoder().encode(stdin),
      stdout: "pipe",
      stderr: "pipe",
      // A process group of its own, to be ended as a whole.
      detached: true,
    });
  } catch (cause) {
    throw new NetplugError("ioFailure", `run ${quote(command)}: it cannot be started`, { cause });
  }
}

/** Whoever ignores SIGCHLD hands that down, and then the kernel forgets how our children end. A handler ends it, also once it is gone. */
function hearOfChildren(): void {
  const onChild = (): void => {};
  process.on("SIGCHLD", onChild);
  process.off("SIGCHLD", onChild);
}

async function collect(child: Child, signal: AbortSignal): Promise<ProcessResult> {
  const lingered = child.exited.then(() => timeOut(LINGER_MS, signal));
  const [stdout, stderr] = await Promise.all([readLimited(child.stdout, lingered), readLimited(child.stderr, lingered)]);
  await child.exited;
  // The type says number, but there is none when a signal ended it.
  const status: number | null = child.exitCode;
  return { status: status ?? 128 + signalNumber(child.signalCode), stdout, stderr };
}

/** Reads to the end, or until `lingered`: children of the ended program may keep the stream open. */
async function readLimited(stream: ReadableStream<Uint8Array>, lingered: Promise<unknown>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let sizeBytes = 0; ;) {
      const chunk = await Promise.race([reader.read(), lingered]);
      if (!isChunk(chunk) || chunk.value === undefined) break;
      sizeBytes += chunk.value.length;
      if (sizeBytes > MAX_OUTPUT_BYTES)
        throw new NetplugError("ioFailure", `read output of a program: it is larger than ${MAX_OUTPUT_BYTES} bytes, ended it`);
      text += decoder.decode(chunk.value, { stream: true });
    }
  } finally {
    // Else the descriptor stays open for as long as what the program left behind lives.
    void reader.cancel().catch(() => {});
  }
  return text + decoder.decode();
}

function isChunk(value: unknown): value is { readonly value: Uint8Array | undefined } {
  return typeof value === "object" && value !== null && "value" in value;
}

function timeOut(ms: number, signal: AbortSignal): Promise<"timeout"> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve("timeout"), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}

/** @see signal(7); the others cannot end a process, or are never seen */
const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGSYS: 31,
};

function signalNumber(signal: string | number | null): number {
  return (typeof signal === "string" ? SIGNALS[signal] : signal) ?? 0;
}
