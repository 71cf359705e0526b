/** The outside world is handed in: who may touch it directly. */

import { codeOnly } from "./code-text.ts";
import { isProduct, lineAt } from "./source-tree.ts";
import type { SourceFile } from "./source-tree.ts";
import type { Problem } from "./problem.ts";

interface WorldRule {
  /** What is touched, for the message. */
  readonly what: string;
  readonly pattern: RegExp;
  /** Path prefixes that may. */
  readonly allowed: readonly string[];
}

/** The files in which a role begins: they make the adapters and hand them on. */
const ROLE_ENTRIES = [
  "src/main.ts",
  "src/cni/program.ts",
  "src/cni/real-host.ts",
  "src/cli/program.ts",
  "src/install-cni/program.ts",
] as const;

const WORLD: readonly WorldRule[] = [
  {
    what: "the clock",
    pattern:
      /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.\w+|\bBun\.nanoseconds\b|\bset(?:Timeout|Interval|Immediate)\(|\bBun\.sleep(?:Sync)?\b|["']node:(?:timers(?:\/promises)?|perf_hooks)["']/g,
    allowed: ["src/lib/clock.ts", "src/linux/", "src/datastore/etcd/client/", ...ROLE_ENTRIES],
  },
  {
    what: "randomness",
    pattern: /\bMath\.random\b|\bcrypto\.(?:getRandomValues|randomUUID|randomBytes)\b|\bBun\.randomUUID\w*\b/g,
    allowed: ["src/lib/random.ts", "src/linux/", ...ROLE_ENTRIES],
  },
  {
    what: "files",
    pattern: /\bBun\.(?:file|write|mmap|Glob|stdin|stdout|stderr)\b|["']node:fs(?:\/promises)?["']/g,
    allowed: ["src/linux/", ...ROLE_ENTRIES],
  },
  {
    what: "the network",
    pattern:
      /(?:(?<![.\w])|\bglobalThis\.)fetch\(|\bBun\.(?:connect|listen|serve|udpSocket|dns)\b|\bnew (?:WebSocket|XMLHttpRequest)\b|["']node:(?:net|tls|dgram|https?|http2|dns)(?:\/promises)?["']/g,
    allowed: ["src/datastore/etcd/client/", "src/datastore/etcd/wire/", "src/kube/requests/transport.ts", "src/linux/", ...ROLE_ENTRIES],
  },
  {
    what: "processes",
    pattern: /\bBun\.spawn(?:Sync)?\b|\bBun\.\$|\bnew Worker\(|["']node:(?:child_process|worker_threads|cluster)["']/g,
    allowed: ["src/linux/", ...ROLE_ENTRIES],
  },
  {
    what: "the environment of the process",
    pattern:
      /(?:(?<!\.)|\bglobalThis\.)\bprocess\.(?:env|argv|argv0|exit|exitCode|cwd|kill|on|pid|getuid)\b|\bBun\.(?:env|argv)\b|\bimport\.meta\.env\b|["']node:(?:process|os)["']/g,
    allowed: ["src/linux/", ...ROLE_ENTRIES],
  },
];

/** Costs 8 to 10 ms of a start of 5: streams are `console` and `Bun.stdin`. */
const STREAMS = /\bprocess\.(?:stdin|stdout|stderr)\b/g;

function find(text: string, pattern: RegExp): { readonly found: string; readonly line: number }[] {
  return [...text.matchAll(pattern)].map((match) => ({ found: match[0].trim(), line: lineAt(text, match.index) }));
}

/** Module specifiers are strings, so they are looked for in the import list and not in the blanked code. */
function importText(file: SourceFile): string {
  return file.imports
    .filter(({ kind }) => kind !== "type")
    .map(({ specifier, line }) => `${line}\u0000"${specifier}"`)
    .join("\n");
}

/** The clock, randomness, files, the network and processes are touched in adapters and role entries only. */
export function checkWorld(files: readonly SourceFile[]): Problem[] {
  const problems: Problem[] = [];
  for (const file of files.filter(({ path }) => isProduct(path))) {
    const code = codeOnly(file.text);
    const imports = importText(file);
    for (const { what, pattern, allowed } of WORLD) {
      if (allowed.some((prefix) => file.path.startsWith(prefix))) continue;
      for (const { found, line } of find(code, pattern)) {
        problems.push(`${file.path}:${line}: touches ${what} by ${found.replace(/\($/, "")}; take a port of lib/ports.ts instead`);
      }
      for (const [specifier] of imports.matchAll(pattern))
        problems.push(`${file.path}: touches ${what} by importing ${specifier}; take a port of lib/ports.ts instead`);
    }
    for (const { found, line } of find(code, STREAMS)) {
      problems.push(`${file.path}:${line}: ${found} costs 8 ms or more at the start; use console or Bun.stdin`);
    }
  }
  return problems;
}

/** Calls into libc stay in one folder, where a mistake in a pointer can be looked for. */
export function checkForeignCalls(files: readonly SourceFile[]): Problem[] {
  return files.flatMap((file) =>
    file.imports
      .filter(
        ({ specifier, kind }) =>
          specifier === "bun:ffi" && kind !== "type" && file.path.startsWith("src/") && !file.path.startsWith("src/linux/"),
      )
      .map(({ line }) => `${file.path}:${line}: imports bun:ffi, which only src/linux/ may`),
  );
}
