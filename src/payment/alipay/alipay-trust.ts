/**
 * By which key Alipay's signatures are checked. In key mode there is one. In certificate mode each answer may name the certificate it is
 * signed with (`alipay_cert_sn`); one that is new is downloaded from Alipay and accepted only if it leads to the root certificate that was
 * configured, so that Alipay can change its certificate in mid-sale. Those before it stay: what was signed with them may still arrive.
 */

import type { KeyObject } from 'node:crypto'
import type { Log } from '../../base/log.ts'
import {
  type Certificates,
  checkedCertificate,
  readCertificates,
  rootSerialOf,
  serialOf,
} from './alipay-certificates.ts'
import { unreachable } from './alipay-errors.ts'

/** Asks Alipay for a certificate and gives what it holds. Undefined: Alipay has none by that number. */
type Download = (serial: string) => Promise<KeyObject | undefined>

/** What is signed: Alipay's answer to a call of ours, or a notice, which anybody can send. */
type Signed = 'answer' | 'notice'

export interface AlipayTrust {
  /** What every request has to say about our own certificates. */
  readonly parameters: Readonly<Record<string, string>>
  /** The keys that may have signed it, the likeliest first. None: it is forged. A retryable Fault: that can't be told now. */
  keysFor(serial: string | undefined, of: Signed, download: Download): Promise<readonly KeyObject[]>
  /** A certificate that Alipay has sent. Undefined: it is not Alipay's. */
  accept(serial: string, content: string): KeyObject | undefined
}

export function trustInKey(publicKey: KeyObject): AlipayTrust {
  return { parameters: {}, keysFor: async () => [publicKey], accept: () => undefined }
}

interface CertificateTexts {
  readonly appCert: string
  readonly publicCert: string
  readonly rootCert: string
}

/** Alipay has one at a time, and changes it once in years. */
const KEPT_MAX = 8
/** Numbers that Alipay does not know. */
const UNKNOWN_MAX = 256
/** A flood of forged notices must not become a flood of calls, nor keep our own calls from a new certificate: each has its own bound. */
const DOWNLOADS_MAX = 64
const DOWNLOADS_PERIOD_MS = 600_000

/** @param now the wall clock: certificates begin and end by it */
export function trustInCertificates(
  texts: CertificateTexts,
  now: () => number,
  log: Pick<Log, 'info' | 'error'>,
): AlipayTrust {
  const roots = readCertificates(texts.rootCert)
  const configured = readCertificates(texts.publicCert)
  const own = configured[0]!
  const kept = new Map<string, KeyObject>([[serialOf(own), own.publicKey]])
  const unknown = new Set<string>()
  const fetching = new Map<string, Promise<KeyObject | undefined>>()
  let periodFromMs = now()
  let downloads = { answer: 0, notice: 0 }

  /** When Alipay changes its certificate in a rush, a thousand answers name the new one at once: it is fetched once. */
  async function fetchOnce(serial: string, of: Signed, download: Download): Promise<KeyObject | undefined> {
    const going = fetching.get(serial)
    if (going !== undefined) return going
    if (Math.abs(now() - periodFromMs) > DOWNLOADS_PERIOD_MS) {
      periodFromMs = now()
      downloads = { answer: 0, notice: 0 }
      unknown.clear()
    }
    if (unknown.has(serial)) return undefined
    if (downloads[of] === DOWNLOADS_MAX)
      throw unreachable(`Alipay is not asked for certificate ${serial} now: too many were asked for`)
    downloads[of] += 1
    const begun = download(serial)
      .then(key => {
        if (key === undefined && unknown.size < UNKNOWN_MAX) unknown.add(serial)
        return key
      })
      .finally(() => fetching.delete(serial))
    fetching.set(serial, begun)
    return begun
  }

  return {
    parameters: {
      app_cert_sn: serialOf(readCertificates(texts.appCert)[0]!),
      alipay_root_cert_sn: rootSerialOf(roots),
    },
    async keysFor(serial, of, download) {
      // The newest was added last.
      if (serial === undefined) return [...kept.values()].reverse()
      const known = kept.get(serial)
      if (known !== undefined) return [known]
      if (!/^[0-9a-f]{32}$/.test(serial)) return []
      const key = await fetchOnce(serial, of, download)
      return key === undefined ? [] : [key]
    },
    accept(serial, content) {
      const given: Certificates = { chain: readCertificates(content), helpers: configured.slice(1), roots, own }
      const certificate = checkedCertificate(given, now())
      if (certificate === undefined || serialOf(certificate) !== serial) {
        log.error(
          { event: 'alipay_certificate_refused', serial },
          'new certificate of Alipay refused: it does not lead to the root certificate, or is not valid now',
        )
        return undefined
      }
      if (!kept.has(serial) && kept.size >= KEPT_MAX) kept.delete([...kept.keys()][1]!)
      kept.set(serial, certificate.publicKey)
      log.info(
        { event: 'alipay_certificate_accepted', serial, validTo: certificate.validTo },
        'new certificate of Alipay accepted',
      )
      return certificate.publicKey
    },
  }
}
