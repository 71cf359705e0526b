/** Tokens of service accounts that end within seconds: an API server grants none for less than ten minutes. */

import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ApiServer } from "./api-server.ts";
import { eventually } from "../time/eventually.ts";

/** By how much an API server lets a token outlive its end, in seconds. @see go-jose jwt, DefaultLeeway */
const LEEWAY_SECONDS = 60;

/**
 * How long the API server may let in whom it let in before, in milliseconds.
 *
 * @see k8s.io/kubernetes pkg/kubeapiserver/authenticator, tokenSuccessCacheTTL
 */
const REMEMBERED_MS = 10_000;

interface Claims {
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
}

/** One that the API server granted, with the same claims but its times, signed anew with the server's key. */
export async function issueShortToken(
  api: ApiServer,
  account: { readonly namespace: string; readonly name: string },
  lifeMs: number,
): Promise<string> {
  const granted = await api.kubectl(["create", "token", account.name, "--namespace", account.namespace]);
  const [header = "", payload = ""] = granted.trim().split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
  const exp = Math.ceil((Date.now() + lifeMs) / 1000) - LEEWAY_SECONDS;
  const life = claims.exp - claims.iat;
  const shifted: Claims = { ...claims, iat: exp - life, nbf: exp - life, exp };
  const signed = `${header}.${Buffer.from(JSON.stringify(shifted)).toString("base64url")}`;
  const key = { key: createPrivateKey(readFileSync(api.serviceAccountKeyFile, "utf8")), dsaEncoding: "ieee-p1363" } as const;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}

/** Whom the API server takes a token for; undefined: it does not accept it. */
export async function userOfToken(api: ApiServer, token: string): Promise<string | undefined> {
  const response = await fetch(`${api.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
    tls: { ca: readFileSync(api.caFile, "utf8") },
  });
  const text = await response.text();
  if (response.status === 401) return undefined;
  if (!response.ok) throw new Error(`ask who has a token: ${response.status} ${text}`);
  return (JSON.parse(text) as { readonly status: { readonly userInfo: { readonly username: string } } }).status.userInfo.username;
}

/** Waits for the end of a token. */
export async function untilExpired(api: ApiServer, token: string, lifeMs: number): Promise<void> {
  await eventually(
    async () => {
      if ((await userOfToken(api, token)) !== undefined) throw new Error("the API server still accepts the token");
    },
    lifeMs + REMEMBERED_MS + 20_000,
  );
}
