/** Which defaults an API server can apply. */

/**
 * The defaults that are the same whatever else a spec says: those that `complete` gives to every sample. A field that a sample has
 * itself gets no default from it.
 *
 * @param complete what the readers of such objects apply
 */
export function staticDefaults<S extends object>(samples: readonly S[], complete: (spec: S) => S): Readonly<Record<string, unknown>> {
  const completed = samples.map((sample) => ({ sample, fields: complete(sample) as Readonly<Record<string, unknown>> }));
  const [first] = completed;
  if (first === undefined) return {};
  const shared = Object.entries(first.fields).filter(([name, value]) =>
    completed.every(({ sample, fields }) => Object.hasOwn(sample, name) || Bun.deepEquals(fields[name], value)),
  );
  return Object.fromEntries(shared.filter(([name]) => !Object.hasOwn(first.sample, name)));
}
