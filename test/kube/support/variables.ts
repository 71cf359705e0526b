/** For tests: variables of this process, for a while. */

/** Sets them until it is disposed of. */
export function withVariables(wanted: Readonly<Record<string, string>>): Disposable {
  const before = Object.keys(wanted).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, wanted);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    },
  };
}
