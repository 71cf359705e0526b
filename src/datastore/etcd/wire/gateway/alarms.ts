/** Alarms in the JSON of etcd's gateway. */

/** Of a status or a list: texts with an alarm in them each, and others. */
export function decodeAlarms(body: string): readonly string[] {
  const { errors = [], alarms = [] } = JSON.parse(body) as { errors?: readonly string[]; alarms?: readonly { alarm?: string }[] };
  return [...errors, ...alarms.map(({ alarm }) => `alarm:${alarm}`)];
}
