/** What a delegate said of DNS when it gave an attachment its addresses: an ADD that is repeated says it again, and asks no delegate. */

import { isJsonObject, parseJson } from "../../lib/json.ts";
import type { LocalCall } from "../call.ts";
import type { CniResult } from "../protocol/result.ts";
import { tolerate, readNodeFile, removeNodeFile, writeNodeFile } from "./node-files.ts";

/** Keeps a delegate's DNS settings; no file when it gave none, as most do. */
export function noteDns(call: LocalCall, dns: CniResult["dns"]): void {
  if (dns === undefined || Object.keys(dns).length === 0) forgetDns(call);
  else tolerate(call, () => writeNodeFile(call, "dns", JSON.stringify(dns)));
}

/** The delegate's DNS settings; undefined: it gave none, or the file got lost. */
export function notedDns(call: LocalCall): CniResult["dns"] {
  const dns = tolerate(call, () => {
    const text = readNodeFile(call, "dns");
    return text === undefined ? undefined : parseJson(text);
  });
  return isJsonObject(dns) ? dns : undefined;
}

/** Removes it, when the attachment ends. */
export function forgetDns(call: LocalCall): void {
  tolerate(call, () => removeNodeFile(call, "dns"));
}
