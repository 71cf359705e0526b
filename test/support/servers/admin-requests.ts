/** Requests to a real API server as its administrator, for tests to which starting `kubectl` each time would take too long. */

import { readFileSync } from "node:fs";

/** The answer to one request. */
export interface Answer {
  readonly status: number;
  readonly body: { readonly message?: string; readonly spec?: unknown; readonly metadata?: { readonly resourceVersion?: string } };
}

export interface AdminRequests {
  /** @param type of the body. @default "application/json" */
  request(method: string, path: string, body?: unknown, type?: string): Promise<Answer>;
  /** The same, which must succeed. @param accepted statuses that are no failure either @returns the body @throws Error with the answer */
  mustRequest<T>(method: string, path: string, body?: unknown, accepted?: readonly number[]): Promise<T>;
}

export function adminRequests(server: { readonly url: string; readonly caFile: string; readonly token: string }): AdminRequests {
  const tls = { ca: readFileSync(server.caFile, "utf8") };
  const requests: AdminRequests = {
    async request(method, path, body, type = "application/json") {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${server.token}`, "content-type": type },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        tls,
      });
      return { status: response.status, body: (await response.json()) as Answer["body"] };
    },
    async mustRequest<T>(method: string, path: string, body?: unknown, accepted: readonly number[] = []) {
      const answer = await requests.request(method, path, body);
      if (answer.status >= 300 && !accepted.includes(answer.status))
        throw new Error(`${method} ${path}: ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body as T;
    },
  };
  return requests;
}
