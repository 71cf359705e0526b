/** For tests: another program, from its start to its end. */

export interface ProgramOptions {
  readonly stdin?: string;
  /** All of its environment. @default that of the test */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Tests that run beside this one go on meanwhile. */
export async function runProgram(command: readonly string[], { stdin = "", ...options }: ProgramOptions = {}): Promise<CommandResult> {
  const child = Bun.spawn([...command], { ...options, stdin: Buffer.from(stdin), stdout: "pipe", stderr: "pipe" });
  const [status, stdout, stderr] = await Promise.all([child.exited, child.stdout.text(), child.stderr.text()]);
  return { status, stdout, stderr };
}

/** {@link runProgram}, which must succeed. @returns what it printed @throws Error with what it said */
export async function mustRunProgram(command: readonly string[], options?: ProgramOptions): Promise<string> {
  return expectSuccess(command, await runProgram(command, options));
}

/** {@link runProgram}, and nothing else goes on meanwhile. */
export function runProgramSync(command: readonly string[], { stdin = "", ...options }: ProgramOptions = {}): CommandResult {
  const child = Bun.spawnSync([...command], { ...options, stdin: Buffer.from(stdin), stdout: "pipe", stderr: "pipe" });
  return { status: child.exitCode, stdout: child.stdout.toString(), stderr: child.stderr.toString() };
}

/** {@link mustRunProgram}, and nothing else goes on meanwhile. */
export function mustRunProgramSync(command: readonly string[], options?: ProgramOptions): string {
  return expectSuccess(command, runProgramSync(command, options));
}

/** @returns what the program printed @throws Error with what it said, unless it succeeded */
export function expectSuccess(command: readonly string[], { status, stdout, stderr }: CommandResult): string {
  if (status !== 0) throw new Error(`${command.join(" ")}: status ${status}: ${stderr}${stdout}`);
  return stdout;
}
