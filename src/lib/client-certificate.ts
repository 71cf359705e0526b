/** What of a client certificate keeps servers from accepting it, and whose it is. Loads `node:crypto`: only what has just failed may load it. */

import { X509Certificate } from "node:crypto";

/** What does not count. */
export interface CertificateFault {
  /** True: it is not the certificate itself, but one of the authorities that follow it. A server may know another one in its place. */
  readonly isOfAuthority: boolean;
  /** What is wrong with it, and what helps. */
  readonly why: string;
}

/**
 * Looks at a certificate and at the authorities that follow it and have signed it, for what the alert, or the 401, of a server does not say. Whom the
 * server trusts only the server knows.
 *
 * @param pem leaves out, as a connection does, what has a label that nobody knows
 * @param now milliseconds since 1970
 * @returns undefined when all of them count
 */
export function findCertificateFault(pem: string, now: number): CertificateFault | undefined {
  const [own, ...others] = readCertificates(pem);
  if (own === undefined) return undefined;
  const why = whyNotToUse(own, now);
  if (why !== undefined) return { isOfAuthority: false, why };
  const whyAbove = whyNotSigned(own, others, { now, known: new Map() });
  return whyAbove === undefined ? undefined : { isOfAuthority: true, why: whyAbove };
}

interface Look {
  readonly now: number;
  /** What is wrong with an authority or above it; of one that is being looked at, nothing so far: they may have signed each other, or themselves. */
  readonly known: Map<X509Certificate, string | undefined>;
}

/** Of several authorities with the name that is wanted one is enough that counts, as do those above it. A server passes over what has signed nothing. */
function whyNotSigned(certificate: X509Certificate, others: readonly X509Certificate[], look: Look): string | undefined {
  const { now, known } = look;
  const faults = others
    .filter((other) => certificate.checkIssued(other))
    .map((signer) => {
      if (!known.has(signer)) {
        const why = whyNotToUse(signer, now);
        known.set(signer, why);
        known.set(signer, why ?? whyNotSigned(signer, others, look));
      }
      return known.get(signer);
    });
  return faults.includes(undefined) ? undefined : faults[0];
}

function whyNotToUse(certificate: X509Certificate, now: number): string | undefined {
  return whyNotValid(certificate, now) ?? whyNotForClients(certificate);
}

/**
 * Whose a certificate is: its common name, of several the last one, as in Go.
 *
 * @param pem as {@link findCertificateFault} takes it
 * @returns undefined without one
 */
export function commonNameOf(pem: string): string | undefined {
  // Not `subject`, in which some letters are escaped.
  const subject = readCertificates(pem)[0]?.toLegacyObject().subject as { readonly CN?: string | readonly string[] } | undefined;
  const CN = subject?.CN;
  return typeof CN === "string" ? CN : CN?.at(-1);
}

function whyNotValid({ validFrom, validTo }: X509Certificate, now: number): string | undefined {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  if (now > to) return `it expired at ${new Date(to).toISOString()}: renew it`;
  if (now < from) return `it is not valid before ${new Date(from).toISOString()}: set this machine's clock, or the server's`;
  return undefined;
}

/** clientAuth and anyExtendedKeyUsage. @see RFC 5280 §4.2.1.12 */
const FOR_CLIENTS: readonly string[] = ["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"];

/** Without that extension it is for everything. An authority that has it can sign for nothing else, say etcd and API servers: Go does. */
function whyNotForClients({ keyUsage }: X509Certificate): string | undefined {
  // Not always there, whatever its type says.
  const usages = keyUsage as readonly string[] | undefined;
  if (usages === undefined || usages.some((usage) => FOR_CLIENTS.includes(usage))) return undefined;
  return "it is not for clients, whose extended key usage is clientAuth";
}

function readCertificates(pem: string): X509Certificate[] {
  const parts = pem.split(/(?=-----BEGIN )/).filter((part) => part.includes("CERTIFICATE-----"));
  return parts.flatMap((part) => {
    try {
      return [new X509Certificate(part)];
    } catch {
      return [];
    }
  });
}
