/** For tests: pods that no kubelet knows, made and unmade without a program. */

import { readFileSync } from "node:fs";
import type { ApiServer } from "../cluster/api-server.ts";
import type { Container } from "./attachments.ts";

export interface Pods {
  /** A pod that a node has taken, with the container that an ADD is for. */
  create(name: string, node?: string): Promise<Container>;
  /** At once, as a kubelet does at the end. */
  delete(name: string): Promise<void>;
  /** What the pod's annotation of addresses says; undefined when there is none. */
  addressesOf(name: string): Promise<string | undefined>;
}

interface PodAnswer {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
}

export function podsOf(server: ApiServer): Pods {
  const tls = { ca: readFileSync(server.caFile, "utf8") };
  const request = async (method: string, path: string, body?: object): Promise<PodAnswer> => {
    const response = await fetch(`${server.url}/api/v1/namespaces/default/pods${path}`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      tls,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} pod ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as PodAnswer;
  };
  return {
    async create(name, node = "n1") {
      await request("POST", "", {
        metadata: { name },
        spec: { nodeName: node, containers: [{ name: "main", image: "localhost/none:1" }] },
      });
      return { node, pod: name, id: `id-${name}` };
    },
    async delete(name) {
      await request("DELETE", `/${name}?gracePeriodSeconds=0`);
    },
    async addressesOf(name) {
      return (await request("GET", `/${name}`)).metadata?.annotations?.["cni.netplug.io/podIPs"];
    },
  };
}
