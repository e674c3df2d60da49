/**
 * The keys with which WeChat Pay signs, by serial number: the public keys that are configured (`PUB_KEY_ID_…`), and the platform certificates,
 * which are downloaded when a serial number asks for one. Several are valid at once, so a rotation in mid-sale is one more download.
 *
 * A download is decrypted with the API v3 key, which proves that it is WeChat Pay's, and its signature must fit as well. It replaces the
 * certificates before. Bounded: callers share a download, and for a callback the next one begins a minute after the last (after a failure: five
 * seconds), so forged serial numbers can't make this server call WeChat Pay in a loop. An answer came over a connection of our own, so it waits
 * a second only. A serial number that is not in a fresh list is unknown: forged.
 */

import { type KeyObject, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { meaningOf } from './error-codes.ts'
import type { WechatAnswer } from './wechat-answer.ts'
import { isGenuine, readSignature, unseal } from './wechat-crypto.ts'

const DOWNLOAD_MS_MAX = 3_000
const EVERY_MS_MIN = { callback: 60_000, answer: 1_000 }
const AFTER_FAILURE_MS = 5_000
/** WeChat Pay asks for a download at least every twelve hours: a certificate may be withdrawn. */
const FRESH_MS_MAX = 12 * 3_600_000

interface PublicKey {
  readonly id: string
  readonly key: KeyObject
}

interface PlatformKeysOptions {
  readonly publicKeys: readonly PublicKey[]
  readonly apiV3Key: string
  readonly clock: Clock
  /** Asks for /v3/certificates; the answer is not checked yet. */
  readonly download: (signal: AbortSignal) => Promise<WechatAnswer>
}

/** What WeChat Pay has signed: its call of ours, or its answer to ours. */
type Signed = keyof typeof EVERY_MS_MIN

interface Certificate {
  readonly key: KeyObject
  readonly fromMs: number
  readonly untilMs: number
}

const listSchema = z.object({
  data: z
    .array(
      z.object({
        serial_no: z.string(),
        encrypt_certificate: z.object({
          ciphertext: z.string(),
          nonce: z.string(),
          associated_data: z.string().optional(),
        }),
      }),
    )
    .max(100),
})

export class PlatformKeys {
  readonly #options: PlatformKeysOptions
  readonly #publicKeys: ReadonlyMap<string, KeyObject>
  #certificates: ReadonlyMap<string, Certificate> = new Map()
  #downloading: Promise<void> | undefined
  #downloadedAtMs = Number.NEGATIVE_INFINITY
  #triedAtMs = Number.NEGATIVE_INFINITY
  #failure: Fault | undefined

  constructor(options: PlatformKeysOptions) {
    this.#options = options
    this.#publicKeys = new Map(options.publicKeys.map(({ id, key }) => [id, key]))
  }

  /** Undefined: no key of WeChat Pay has this serial number. A retryable Fault: the certificates can't be downloaded now. */
  async find(serial: string, of: Signed): Promise<KeyObject | undefined> {
    if (serial.startsWith('PUB_KEY_ID_')) return this.#publicKeys.get(serial)
    const isOld = this.#options.clock.elapsed() - this.#downloadedAtMs > FRESH_MS_MAX
    if (isOld || this.#known(serial) === undefined) await this.refresh(of)
    const known = this.#known(serial)
    if (known === undefined && this.#failure !== undefined) throw this.#failure
    return known
  }

  /** Downloads the certificates, unless that was tried a moment ago. Never throws: `find` and `valid` say what became of it. */
  async refresh(of: Signed): Promise<void> {
    const waitMs = this.#failure === undefined ? EVERY_MS_MIN[of] : AFTER_FAILURE_MS
    if (this.#downloading === undefined && this.#options.clock.elapsed() - this.#triedAtMs >= waitMs)
      this.#downloading = this.#download().finally(() => {
        this.#downloading = undefined
      })
    await this.#downloading
  }

  /** Serial numbers of the certificates that are valid now, or why there are none. */
  valid(): readonly string[] | Fault {
    return this.#failure ?? [...this.#certificates.keys()].filter(serial => this.#known(serial) !== undefined)
  }

  #known(serial: string): KeyObject | undefined {
    const certificate = this.#certificates.get(serial.toUpperCase())
    const nowMs = this.#options.clock.now()
    return certificate && nowMs >= certificate.fromMs && nowMs <= certificate.untilMs ? certificate.key : undefined
  }

  async #download(): Promise<void> {
    const { clock, download } = this.#options
    try {
      this.#certificates = this.#read(await withDeadline(clock, DOWNLOAD_MS_MAX, download))
      this.#downloadedAtMs = clock.elapsed()
      this.#failure = undefined
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#failure = error
    } finally {
      this.#triedAtMs = clock.elapsed()
    }
  }

  #read(answer: WechatAnswer): ReadonlyMap<string, Certificate> {
    // An account that has only public keys has no list.
    if (this.#publicKeys.size > 0 && meaningOf(answer.status, answer.code) === 'missing') return new Map()
    const list = answer.status === 200 ? listSchema.safeParse(answer.json()).data : undefined
    if (list === undefined) throw undownloaded(`the answer was ${answer.status} ${answer.code ?? ''}`.trim())
    const certificates = new Map<string, Certificate>()
    for (const { serial_no, encrypt_certificate } of list.data) {
      const pem = unseal(this.#options.apiV3Key, encrypt_certificate)
      if (pem === undefined)
        throw undownloaded('WECHAT_API_V3_KEY does not decrypt them: it is not the key of this account')
      const certificate = readCertificate(pem)
      if (certificate !== undefined) certificates.set(serial_no.toUpperCase(), certificate)
    }
    const headers = readSignature(answer.headers)
    const signer =
      headers && (certificates.get(headers.serial.toUpperCase())?.key ?? this.#publicKeys.get(headers.serial))
    if (headers === undefined || signer === undefined || !isGenuine(signer, answer.rawBody, headers))
      throw undownloaded('the list is not signed by one of them')
    return certificates
  }
}

function readCertificate(pem: string): Certificate | undefined {
  try {
    const { publicKey, validFrom, validTo } = new X509Certificate(pem)
    return { key: publicKey, fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) }
  } catch {
    return undefined
  }
}

function undownloaded(why: string): Fault {
  return new Fault('payment_unreachable', `WeChat Pay's certificates were not downloaded: ${why}`, { retryable: true })
}
