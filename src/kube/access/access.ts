/** Where the API server is, and our credentials: the result of settings and kubeconfigs. Files are not read yet. */

/** PEM, or the file that holds it. */
export type PemSource = ({ readonly text: string } | { readonly file: string }) & {
  /** For messages: `certificate-authority "/ca.crt" of cluster "x" in kubeconfig "/y"`. */
  readonly label: string;
};

/** A program that prints credentials. @see k8s.io/client-go, "client-go credential plugins" */
export interface ExecPlugin {
  /** Absolute, or a name that is looked for in `PATH`. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string;
  /** Whether it is told about the cluster. */
  readonly providesClusterInfo: boolean;
  /** What the cluster's entry has for it, under the extension `client.authentication.k8s.io/exec`. */
  readonly clusterConfig: unknown;
  /** Whether it needs a terminal, which it never gets here. */
  readonly isInteractive: boolean;
  /** How to get it, for the message when it is missing. */
  readonly installHint: string | undefined;
}

/** Acting as somebody else. */
export interface Impersonation {
  readonly user: string;
  readonly uid: string | undefined;
  readonly group: string | undefined;
}

/** The credentials of a user; what is absent is undefined. */
export interface UserAccess {
  readonly clientCertificate: PemSource | undefined;
  readonly clientKey: PemSource | undefined;
  readonly token: string | undefined;
  /** Read again and again; beats `token` as long as it can be read. */
  readonly tokenFile: string | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  readonly exec: ExecPlugin | undefined;
  readonly impersonate: Impersonation | undefined;
}

/** A user of whom nothing is known: requests carry no credentials. */
export const ANONYMOUS: UserAccess = {
  clientCertificate: undefined,
  clientKey: undefined,
  token: undefined,
  tokenFile: undefined,
  basic: undefined,
  exec: undefined,
  impersonate: undefined,
};

/** How to reach one API server as one user. */
export interface KubeAccess {
  /** `https://host:port`, with a prefix when the API is served below one; no slash at the end. */
  readonly server: string;
  /** Undefined: the roots of the system. */
  readonly ca: PemSource | undefined;
  readonly skipsTlsVerify: boolean;
  /** The name that the server's certificate must have, when it is not the host's. */
  readonly tlsServerName: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly user: UserAccess;
  /** That of the context, or of the pod we run in. */
  readonly namespace: string | undefined;
  /** Where all this comes from, for messages: `kubeconfig "/etc/x", user "y"`. */
  readonly origin: string;
}

/** Access to a server of which nothing is known but where it is. */
export const BARE_ACCESS: Omit<KubeAccess, "server"> = {
  ca: undefined,
  skipsTlsVerify: false,
  tlsServerName: undefined,
  proxyUrl: undefined,
  user: ANONYMOUS,
  namespace: undefined,
  origin: "the settings",
};

/** What a role or a person says about access; what is absent is undefined. */
export interface KubeSettings {
  /** One file, or several with colons between them, which are merged; with several, those that do not exist count as empty. */
  readonly kubeconfig?: string | undefined;
  /** Looked for when neither a kubeconfig nor a server is set; its absence is no error. */
  readonly defaultKubeconfig?: string | undefined;
  /** @default the kubeconfig's `current-context` */
  readonly context?: string | undefined;
  /** The server's URL, which beats that of a kubeconfig; `/api/…` at its end is ignored. */
  readonly apiRoot?: string | undefined;
  /** Beats all other credentials. */
  readonly token?: string | undefined;
  readonly caFile?: string | undefined;
  /** What messages call where each of them comes from. @default "the settings" */
  readonly names?: { readonly [K in "apiRoot" | "token" | "caFile"]?: string | undefined } | undefined;
  /** Trusts whatever certificate the server shows. @default what the kubeconfig says */
  readonly skipsTlsVerify?: boolean | undefined;
}
