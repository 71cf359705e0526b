/** For tests: programs on a terminal of their own, driven as a person would. */

export interface TerminalSession extends AsyncDisposable {
  /** Presses keys. */
  type(keys: string): void;
  /**
   * Waits for text on the screen that was not waited for before.
   *
   * @returns what was shown up to its end
   * @throws Error with the screen when it does not come
   */
  shows(pattern: RegExp): Promise<string>;
  /** Waits for the program's end. @returns its exit status */
  ended(): Promise<number>;
}

const LIMIT_MS = 60_000;

/** Starts a program on a terminal that is wide enough for every line. */
export function startOnTerminal(command: readonly string[], env: Readonly<Record<string, string | undefined>>): TerminalSession {
  const decoder = new TextDecoder();
  let screen = "";
  let onShown = (): void => {};
  const child = Bun.spawn([...command], {
    env: { ...process.env, TERM: "xterm", ...env },
    terminal: {
      cols: 250,
      rows: 50,
      data: (_, bytes) => {
        screen += decoder.decode(bytes, { stream: true });
        onShown();
      },
    },
  });
  const { terminal } = child;
  if (terminal === undefined) throw new Error("start on a terminal: there is none");
  return {
    type: (keys) => void terminal.write(keys),
    async shows(pattern) {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const timer = setTimeout(() => reject(new Error(`want ${String(pattern)} on the screen, got ${JSON.stringify(screen)}`)), LIMIT_MS);
      onShown = () => {
        const found = pattern.exec(screen);
        if (found === null) return;
        const end = found.index + found[0].length;
        resolve(screen.slice(0, end));
        screen = screen.slice(end);
        onShown = () => {};
      };
      onShown();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
      }
    },
    ended: () => child.exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      terminal.close();
    },
  };
}
