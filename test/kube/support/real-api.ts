/** For tests: our client, and the other implementation, on a real API server. */

import { KubeConfig } from "@kubernetes/client-node";
import type { KubeSettings } from "../../../src/kube/access/access.ts";
import { KubeClient } from "../../../src/kube/client.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { KubeOptions, KubePorts } from "../../../src/kube/requests/requester.ts";
import type { ResourceType } from "../../../src/kube/resource-type.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { linuxProcesses } from "../../../src/linux/processes.ts";
import type { ApiServer } from "../../support/servers/api-server.ts";

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const CONFIG_MAPS: ResourceType<ConfigMap> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  isNamespaced: true,
};

/** One resource of our own group, whose CRD a test may apply. */
export const WIDGETS: ResourceType<KubeObject & { readonly spec?: { readonly size?: number; readonly name?: string } }> = {
  group: "test.netplug.io",
  version: "v3",
  plural: "widgets",
  kind: "Widget",
  isNamespaced: false,
};

export const WIDGET_CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.test.netplug.io" },
  spec: {
    group: "test.netplug.io",
    scope: "Cluster",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v3",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { size: { type: "integer", minimum: 1, default: 5 }, name: { type: "string" } },
                "x-kubernetes-validations": [{ rule: "self.size == oldSelf.size", message: "size must not change" }],
              },
            },
          },
        },
      },
    ],
  },
};

export const realPorts: KubePorts = {
  clock: systemClock,
  random: systemRandom,
  files: linuxFiles,
  processes: linuxProcesses,
  env: { PATH: process.env["PATH"] },
};

/** Ours, as the administrator unless settings say otherwise. */
export function openClient(api: ApiServer, options: KubeOptions = {}, settings: KubeSettings = {}): KubeClient {
  return new KubeClient({ kubeconfig: api.kubeconfigFile, ...settings }, realPorts, { qps: 0, ...options });
}

/** The other implementation's idea of a kubeconfig. */
export function readWithOther(path: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(path);
  return config;
}

/** What both clients give, in one form: the other one makes dates of times, and has fields that are undefined. */
export function normalise(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, inner: unknown) => inner);
  return JSON.parse(text.replaceAll(/(\d\d:\d\d:\d\d)\.000Z"/g, '$1Z"')) as unknown;
}

/** A pod that nobody runs. */
export function makePod(name: string, namespace = "default"): KubeObject & { readonly spec: object } {
  return { metadata: { name, namespace }, spec: { containers: [{ name: "main", image: "localhost/none:1" }] } };
}

/** Waits for something that another process does. @throws Error after thirty seconds */
export async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const end = performance.now() + 30_000;
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`wait for ${what}: not there after 30 s`);
    await Bun.sleep(20);
  }
}
