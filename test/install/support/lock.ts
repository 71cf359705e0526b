/** Another installer at work in a folder: a process that locks it as we do. */
export async function lockWithFlock(folder: string): Promise<Disposable & { end(): Promise<void> }> {
  const child = Bun.spawn(["flock", folder, "cat"], { stdin: "pipe", stdout: "pipe" });
  const end = async (): Promise<void> => {
    await child.stdin.end();
    await child.exited;
  };
  await child.stdin.write("locked\n");
  await child.stdin.flush();
  await child.stdout.getReader().read();
  return { end, [Symbol.dispose]: () => void child.stdin.end() };
}
