/**
 * For tests: WeChat Pay's side of signing and encrypting, done by `wechatpay-axios-plugin`, so that our code is held against another's.
 * A signer has one public key and any number of platform certificates; the newest signs. RSA keys are made once per process.
 */

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { Aes, Formatter, Rsa } from 'wechatpay-axios-plugin'

const DAY_MS = 86_400_000

const pairs: ReturnType<typeof makePair>[] = []
function makePair() {
  return generateKeyPairSync('rsa', { modulusLength: 2048 })
}
/** The merchant's pair is number 0. */
export function rsaPair(no: number) {
  while (pairs.length <= no) pairs.push(makePair())
  return pairs[no]!
}

interface Signed {
  readonly rawBody: Uint8Array
  readonly headers: ReadonlyMap<string, string>
}

export class WechatSigner {
  readonly publicKeyId = `PUB_KEY_ID_${Formatter.nonce(32)}`
  readonly apiV3Key = Formatter.nonce(32)
  readonly certificates: { readonly serial: string; readonly pem: string; readonly pairNo: number }[] = []
  /** Whether callbacks are signed with the public key, or with the newest certificate. */
  signsWith: 'public key' | 'certificate'
  readonly #pairNo: number
  readonly #now: () => number

  /** @param pairNo of its first pair; the pairs after it are for certificates */
  constructor(signsWith: 'public key' | 'certificate', pairNo: number, now: () => number) {
    this.signsWith = signsWith
    this.#pairNo = pairNo
    this.#now = now
    this.addCertificate()
  }

  get publicKeyPem(): string {
    return rsaPair(this.#pairNo).publicKey.export({ type: 'spki', format: 'pem' }).toString()
  }

  /** From now on it signs; those before stay valid. */
  addCertificate(validMs = { from: this.#now() - DAY_MS, until: this.#now() + 365 * DAY_MS }): void {
    const serial = `5${randomBytes(20).toString('hex').toUpperCase().slice(1)}`
    const pairNo = this.#pairNo + this.certificates.length
    this.certificates.push({ serial, pem: makeCertificate(rsaPair(pairNo), serial, validMs), pairNo })
  }

  sign(body: string, signsWith = this.signsWith, atMs = this.#now()): Signed {
    const newest = this.certificates.at(-1)!
    const [serial, pairNo] =
      signsWith === 'public key' ? [this.publicKeyId, this.#pairNo] : [newest.serial, newest.pairNo]
    const nonce = Formatter.nonce()
    const timestamp = String(Math.floor(atMs / 1000))
    const signature = Rsa.sign(Formatter.response(timestamp, nonce, body), rsaPair(pairNo).privateKey)
    const headers = new Map([
      ['wechatpay-timestamp', timestamp],
      ['wechatpay-nonce', nonce],
      ['wechatpay-serial', serial],
      ['wechatpay-signature', signature],
      ['wechatpay-signature-type', 'WECHATPAY2-SHA256-RSA2048'],
    ])
    return { rawBody: new Uint8Array(Buffer.from(body)), headers }
  }

  seal(text: string, associatedData: string) {
    const nonce = Formatter.nonce(12)
    return {
      algorithm: 'AEAD_AES_256_GCM',
      ciphertext: Aes.AesGcm.encrypt(text, this.apiV3Key, nonce, associatedData),
      associated_data: associatedData,
      nonce,
    }
  }

  certificateList(): string {
    const data = this.certificates.map(({ serial, pem }) => ({
      serial_no: serial,
      effective_time: '2024-01-01T00:00:00+08:00',
      expire_time: '2034-01-01T00:00:00+08:00',
      encrypt_certificate: this.seal(pem, 'certificate'),
    }))
    return JSON.stringify({ data })
  }
}

const SEQUENCE = 0x30
const SHA256_WITH_RSA = '06092a864886f70d01010b0500'
const COMMON_NAME = '0603550403'

function tlv(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

function utcTime(unixMs: number): Buffer {
  const digits = new Date(unixMs).toISOString().replace(/\D/g, '')
  return tlv(0x17, Buffer.from(`${digits.slice(2, 14)}Z`))
}

/**
 * A self-signed X.509 certificate, as platform certificates are: `node:crypto` reads them and can't make them.
 * @param serial hexadecimal, the first digit below 8
 */
function makeCertificate(
  keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  serial: string,
  validMs: { readonly from: number; readonly until: number },
): string {
  const algorithm = tlv(SEQUENCE, Buffer.from(SHA256_WITH_RSA, 'hex'))
  const text = tlv(0x0c, Buffer.from('Tenpay.com sign (test)'))
  const name = tlv(SEQUENCE, tlv(0x31, tlv(SEQUENCE, Buffer.from(COMMON_NAME, 'hex'), text)))
  const content = tlv(
    SEQUENCE,
    Buffer.from('a003020102', 'hex'),
    tlv(0x02, Buffer.from(serial, 'hex')),
    algorithm,
    name,
    tlv(SEQUENCE, utcTime(validMs.from), utcTime(validMs.until)),
    name,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = sign('sha256', content, keys.privateKey)
  const der = tlv(SEQUENCE, content, algorithm, tlv(0x03, Buffer.from([0]), signature))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
