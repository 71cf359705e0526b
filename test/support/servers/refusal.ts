/** For tests: an answer by which an API server refuses a request, on behalf of the real one. */

/** What it says. */
export interface Refusal {
  readonly status: number;
  readonly reason?: string;
  readonly message?: string;
  /** Seconds, as the header has them. */
  readonly retryAfter?: string;
}

/** A response of either version of HTTP. */
interface Answerable {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  end(text: string): unknown;
}

export function refuse(response: Answerable, { status, reason = "", message = "as the test wants it", retryAfter }: Refusal): void {
  response.writeHead(status, { "content-type": "application/json", ...(retryAfter !== undefined && { "retry-after": retryAfter }) });
  response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason, message, code: status }));
}
