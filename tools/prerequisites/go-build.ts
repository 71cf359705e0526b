/** One run of `go build`, with a line of progress now and then: the long ones take minutes. */

import { dim, say, since } from "../terminal.ts";

export interface GoBuild {
  readonly go: string;
  /** With go.mod. */
  readonly folder: string;
  /** A file for one package, a folder (ending in `/`) for several. */
  readonly output: string;
  readonly linkerFlags: readonly string[];
  readonly packages: readonly string[];
}

export interface GoBuildResult {
  readonly status: number;
  /** What the compiler had to say, without the names of the packages that it compiled. */
  readonly complaints: string;
}

const PROGRESS_EVERY_MS = 15_000;
/** All builds alike, so that they share what the compiler keeps; without cgo, so that no C compiler is needed. */
const FLAGS = ["-trimpath", "-mod=readonly"] as const;
const ENVIRONMENT = { CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOFLAGS: "", GOWORK: "off" } as const;

/** Builds; the caller looks at the status. */
export async function runGoBuild(build: GoBuild): Promise<GoBuildResult> {
  const command = [build.go, "build", "-v", ...FLAGS, "-ldflags", ["-s -w", ...build.linkerFlags].join(" ")];
  const child = Bun.spawn([...command, "-o", build.output, ...build.packages], {
    cwd: build.folder,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    env: { ...process.env, ...ENVIRONMENT },
  });
  const started = performance.now();
  const progress = { compiled: 0, last: "looking at modules" };
  const most = countPackages(build);
  const timer = setInterval(() => {
    void most.then((count) => say(dim(`  ${since(started)}: ${progress.compiled} of at most ${count} packages, ${progress.last}`)));
  }, PROGRESS_EVERY_MS);
  try {
    const complaints: string[] = [];
    for await (const line of linesOf(child.stderr)) {
      if (isPackageName(line)) {
        progress.compiled++;
        progress.last = line;
      } else if (line.startsWith("go: downloading ")) progress.last = line.slice("go: ".length);
      else complaints.push(line);
    }
    return { status: await child.exited, complaints: complaints.join("\n") };
  } finally {
    clearInterval(timer);
    await most;
  }
}

/** How many packages go into a build; those that the compiler has kept from an earlier one are among them. */
async function countPackages(build: GoBuild): Promise<number> {
  const child = Bun.spawn([build.go, "list", "-mod=readonly", "-deps", ...build.packages], {
    cwd: build.folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    env: { ...process.env, ...ENVIRONMENT },
  });
  const names = await child.stdout.text();
  return names.trimEnd().split("\n").length;
}

/** `go build -v` writes these among its complaints. */
function isPackageName(line: string): boolean {
  return /^[\w.~+-]+(?:\/[\w.~+-]+)*$/.test(line);
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
