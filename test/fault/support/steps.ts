/**
 * Counts what a plugin asks of the world, whatever it is: each function of the host, and of what the host opens, is a step. A call
 * that is added to the plugin tomorrow is a step without anybody remembering, and so is one of a port that does not exist yet.
 */

import type { Host } from "../../../src/cni/host.ts";

/** One call to the outside world. */
export interface Step {
  /** From 1. */
  readonly number: number;
  /** As `kernel.openRouteSocket().transact: create veth, read interface`. */
  readonly name: string;
  /** What fails together: `kernel`, `datastore`, `files`, `processes`, `fetch`, … */
  readonly group: string;
}

/** What the plugin asked for, to be carried out once, or not at all. */
export interface Work {
  whole(): unknown;
  /** Only the first half of several things; undefined where there are not several, or all happen at once. */
  readonly half: (() => unknown) | undefined;
}

/** Plays a step: returns what the plugin gets, or throws. */
export type OnStep = (step: Step, work: Work) => unknown;

/** What cannot fail, changes nothing, or (a log) must never fail whoever writes to it. Everything else counts. */
const UNCOUNTED = [/^env$/, /^clock\b/, /^random$/, /^(?:process(?:Id|Start|StartSinceBoot)|callerId)$/, /\.close$/];

/** Whether a port of the host, or a function of one, is counted. */
export function canFail(name: string): boolean {
  return !UNCOUNTED.some((pattern) => pattern.test(name));
}

/** The host's port that a step is of: `openDatastore` for whatever is asked of the datastore. */
export function portOf(name: string): string {
  const [port = ""] = name.split(/[.(:]/);
  return port;
}

/** The same host, of which every call is a step. */
export function withSteps(host: Host, onStep: OnStep): Host {
  let count = 0;
  return wrap(host, "", (name, work) => {
    const step = { number: ++count, name, group: groupOf(name) };
    return onStep(step, work);
  });
}

function wrap<T extends object>(target: T, path: string, play: (name: string, work: Work) => unknown): T {
  return new Proxy(target, {
    get(_, key) {
      // With the target as receiver: classes keep their private fields.
      const value: unknown = Reflect.get(target, key, target);
      const name = path === "" ? String(key) : `${path}.${String(key)}`;
      if (typeof key === "symbol" || !canFail(name)) {
        return typeof value === "function" ? value.bind(target) : value;
      }
      if (isPort(value)) return wrap(value, name, play);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const call = (more: unknown[]): unknown => wrapResult(Reflect.apply(value, target, more), `${name}()`, play);
        return play(describe(name, args), { whole: () => call(args), half: toHalf(name, args, call) });
      };
    },
  });
}

/** What was opened or begun is a port itself; anything else that comes back is data. */
function wrapResult(result: unknown, name: string, play: (name: string, work: Work) => unknown): unknown {
  return isPort(result) && (Symbol.dispose in result || "close" in result || "finish" in result) ? wrap(result, name, play) : result;
}

function isPort(value: unknown): value is object {
  if (typeof value !== "object" || value === null || value instanceof Promise) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const names = [
    ...Object.keys(value),
    ...(prototype === Object.prototype || prototype === null ? [] : Object.getOwnPropertyNames(prototype)),
  ];
  return names.some((name) => name !== "constructor" && typeof Reflect.get(value, name) === "function");
}

/** Settings and requests to the kernel are carried out one after the other; a commit is one. */
function toHalf(name: string, [list, ...rest]: unknown[], call: (args: unknown[]) => unknown): (() => unknown) | undefined {
  if (groupOf(name) !== "kernel" || !Array.isArray(list) || list.length < 2) return undefined;
  return () => call([list.slice(0, Math.ceil(list.length / 2)), ...rest]);
}

function groupOf(name: string): string {
  const port = portOf(name);
  return port === "openDatastore" ? "datastore" : port;
}

/** With the operations of a batch, so that a failed test says at which one. */
function describe(name: string, [first]: unknown[]): string {
  const list: readonly unknown[] = Array.isArray(first) ? first : [first];
  const operations = list.flatMap((one) => {
    if (typeof one !== "object" || one === null) return [];
    const text: unknown = Reflect.get(one, "operation") ?? Reflect.get(one, "op") ?? Reflect.get(one, "type") ?? Reflect.get(one, "path");
    return typeof text === "string" ? [text] : [];
  });
  return operations.length === 0 ? name : `${name}: ${operations.join(", ")}`;
}
