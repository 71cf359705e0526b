/** Alarms in the JSON of etcd's gateway. */

/** The errors of a status. */
export function decodeErrors(body: string): readonly string[] {
  return (JSON.parse(body) as { errors?: readonly string[] }).errors ?? [];
}
