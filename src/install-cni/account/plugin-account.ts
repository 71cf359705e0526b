/** The plugin's token, asked for with our own credentials. */

import { KubeClient } from "../../kube/client.ts";
import { NODES } from "../../kube/core-types.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { InstallHost } from "../host.ts";
import { DEFAULT_ACCOUNT, type Settings } from "../settings/settings.ts";
import type { ServerAccess } from "./kubeconfig.ts";

/** Role of `manifests/rbac.yaml` that permits what we do, for messages. */
const ROLE = "netplug-cni-installer";

/** The life of a token that is asked for; an API server may grant less. */
const LIFE_SECONDS = 24 * 60 * 60;

/** A service account, of which only the token is asked for. @see k8s.io/api authentication/v1, TokenRequest */
const SERVICE_ACCOUNTS: ResourceType<TokenRequest> = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  isNamespaced: true,
};

interface TokenRequest extends KubeObject {
  readonly spec: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** A token and how long it is good for. */
export interface Grant {
  readonly token: string;
  /** Milliseconds, as granted: counted from now, because the API server's clock may differ from ours. */
  readonly lifeMs: number;
}

/** The plugin's account, as an installer sees it. */
export class PluginAccount implements Disposable {
  readonly #openClient: (token?: string) => KubeClient;
  readonly #client: KubeClient;
  readonly #name: string;

  /** @param kube how the API server is reached */
  constructor({ account, skipsTlsVerify }: Settings, kube: NonNullable<Settings["kube"]>, host: InstallHost) {
    this.#name = account;
    this.#openClient = (token) => new KubeClient({ ...kube, skipsTlsVerify, ...(token !== undefined && { token }) }, host, { role: ROLE });
    this.#client = this.#openClient();
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  /** Refuses settings and a kubeconfig that make no sense; what else keeps us from logging in may be over later. @throws NetplugError invalidConfig */
  async requireReadable(): Promise<void> {
    try {
      await this.#client.requester.login();
    } catch (thrown) {
      if (thrown instanceof NetplugError && thrown.kind === "invalidConfig") throw thrown;
    }
  }

  /** Where the API server is, as we reach it ourselves. @throws NetplugError invalidConfig, accessDenied */
  async readServer(): Promise<ServerAccess> {
    const { access, identity } = await this.#client.requester.login();
    const { server, tlsServerName, proxyUrl, skipsTlsVerify } = access;
    return { server, tlsServerName, proxyUrl, ca: identity.tls?.ca, skipsTlsVerify };
  }

  /**
   * Asks for a token that belongs to no pod: it must outlive ours.
   *
   * @throws NetplugError notInitialised when there is no such account; KubeError
   */
  async requestToken(signal: AbortSignal): Promise<Grant> {
    const namespace = (await this.#client.requester.login()).access.namespace ?? DEFAULT_ACCOUNT.namespace;
    const request: TokenRequest = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name: this.#name, namespace },
      spec: { expirationSeconds: LIFE_SECONDS },
    };
    const answer = await this.#client.create(SERVICE_ACCOUNTS, request, { subresource: "token", signal }).catch((thrown: unknown) => {
      if (!isKubeError(thrown, "notFound")) throw thrown;
      const advice = "apply manifests/rbac.yaml, or with etcd rbac-etcd.yaml";
      const message = `get token of service account ${quote(`${namespace}/${this.#name}`)}: there is no such account; ${advice}`;
      throw new NetplugError("notInitialised", message, { cause: thrown });
    });
    return { token: takeToken(answer), lifeMs: 1000 * (answer.spec.expirationSeconds ?? LIFE_SECONDS) };
  }

  /**
   * Reads, as the plugin may, which container runtime a node has.
   *
   * @returns such as `containerd://2.1.4`; undefined: its kubelet has not said yet
   * @throws KubeError
   */
  async readRuntime(node: string, token: string, signal: AbortSignal): Promise<string | undefined> {
    const client = this.#openClient(token);
    try {
      return (await client.get(NODES, { name: node }, { signal }))?.status?.nodeInfo?.containerRuntimeVersion;
    } finally {
      client.close();
    }
  }
}

/**
 * Tries a kubeconfig as the plugin would. A token becomes invalid before it expires when its account, or the API server's keys, are made
 * anew; and no token helps where the API server's certificate is of another authority than the kubeconfig's.
 *
 * @returns false only when the API server does not recognise the token, or is not recognised itself
 */
export async function isAccepted(kubeconfig: string, host: InstallHost): Promise<boolean> {
  const client = new KubeClient({ kubeconfig }, host);
  try {
    // Every known user may read this; an unknown one is refused before permissions count.
    await client.getPath("/version", { signal: host.stopped });
    return true;
  } catch (thrown) {
    return !isKubeError(thrown, "unauthorized") && !isKubeError(thrown, "untrusted");
  } finally {
    client.close();
  }
}

function takeToken({ status }: TokenRequest): string {
  if (status?.token !== undefined && status.token !== "") return status.token;
  throw new NetplugError("internal", "get token of a service account: the API server's answer holds none");
}
