/** Programs of a benchmark's own, compiled as the plugin is. */

/** Compiles `source` to the executable `program`. @throws Error with what the compiler says */
export function compileProgram(source: string, program: string, folder: string): void {
  const options = ["--compile", "--minify", "--bytecode", "--format=esm", "--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const result = Bun.spawnSync([process.execPath, "build", source, ...options, "--outfile", program], {
    cwd: folder,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  if (!result.success) throw new Error(`build ${source}: ${result.stderr.toString()}`);
}
