/**
 * Certificates as Alipay uses them: the number it knows one by is the MD5 of issuer and serial number, that of the root file the numbers of
 * its RSA certificates in order (the file also holds some of other kinds, which Alipay leaves out). Does not ask whether one was revoked:
 * Alipay publishes no list.
 */

import { createHash, X509Certificate } from 'node:crypto'

const CHAIN_MAX = 4
/** The family of RSA signatures: 1.2.840.113549.1.1, as it stands in a certificate. */
const RSA_FAMILY = Buffer.from('2a864886f70d0101', 'hex')

/** All certificates of a PEM text, in order. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  return (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    one => new X509Certificate(one),
  )
}

export function serialOf({ issuer, serialNumber }: X509Certificate): string {
  // `CN=…,OU=…,O=…,C=CN`: the last part first.
  const name = issuer.split('\n').reverse().join(',')
  return createHash('md5')
    .update(`${name}${BigInt(`0x${serialNumber}`)}`)
    .digest('hex')
}

export function rootSerialOf(roots: readonly X509Certificate[]): string {
  return roots.filter(isSignedWithRsa).map(serialOf).join('_')
}

/** A certificate is SEQUENCE { what is signed, SEQUENCE { algorithm … }, signature }. */
function isSignedWithRsa({ raw }: X509Certificate): boolean {
  const signed = elementAt(raw, elementAt(raw, 0).start)
  const algorithm = elementAt(raw, elementAt(raw, signed.end).start)
  return raw.subarray(algorithm.start, algorithm.start + RSA_FAMILY.length).equals(RSA_FAMILY)
}

/** One element of DER: where its content starts and ends. */
function elementAt(der: Buffer, at: number): { readonly start: number; readonly end: number } {
  const first = der[at + 1]!
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  const start = at + 2 + lengthBytes
  return { start, end: start + (lengthBytes === 0 ? first : der.readUIntBE(at + 2, lengthBytes)) }
}

export interface Certificates {
  /** What Alipay sent: its certificate, then those that lead to a root. */
  readonly chain: readonly X509Certificate[]
  /** Further ones that may lead to a root. */
  readonly helpers: readonly X509Certificate[]
  readonly roots: readonly X509Certificate[]
  /** Alipay's certificate as it was configured. */
  readonly own: X509Certificate
}

/**
 * The first of the chain, if it is valid now and leads to a root. The same authority also signs the certificates of every merchant's app:
 * only one that has the issuer or the name of the configured one is Alipay's.
 */
export function checkedCertificate(given: Certificates, nowMs: number): X509Certificate | undefined {
  const [certificate, ...others] = given.chain
  if (certificate === undefined || certificate.ca) return undefined
  if (certificate.issuer !== given.own.issuer && certificate.subject !== given.own.subject) return undefined
  let link = certificate
  for (let depth = 0; depth < CHAIN_MAX; depth++) {
    if (!isValidAt(link, nowMs)) return undefined
    if (given.roots.some(root => isIssuedBy(link, root))) return certificate
    const next = [...others, ...given.helpers].find(one => one.ca && isIssuedBy(link, one))
    if (next === undefined) return undefined
    link = next
  }
  return undefined
}

function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo)
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  } catch {
    // A root of a kind that the runtime can't read (SM2) has issued nothing that it could check.
    return false
  }
}
