/**
 * The signatures and the encryption of API v3, over `node:crypto`: SHA-256 with RSA (PKCS #1 v1.5) and AES-256-GCM. Whatever is wrong with an
 * input from outside is a "no", never an exception. Does not know which key belongs to which serial number.
 */

import { createDecipheriv, type KeyObject, sign, verify } from 'node:crypto'

const TAG_BYTES = 16
const NONCE_BYTES = 12

/** From headers: `wechatpay-timestamp`, `-nonce`, `-serial`, `-signature`. */
interface SignatureHeaders {
  readonly timestamp: string
  readonly nonce: string
  readonly serial: string
  readonly signature: string
}

/** What WeChat Pay encrypts with the API v3 key. */
interface Sealed {
  readonly ciphertext: string
  readonly nonce: string
  readonly associated_data?: string | undefined
}

export interface HeaderSource {
  readonly get: (name: string) => string | null | undefined
}

/** Each line ends with a line feed, the last one too. */
export function signLines(key: KeyObject, lines: readonly string[]): string {
  return sign('sha256', Buffer.from(lines.map(line => `${line}\n`).join('')), key).toString('base64')
}

/**
 * Undefined: one is missing or malformed. So are the probes (`WECHATPAY/SIGNTEST/…`): signatures made wrong on purpose, by which WeChat Pay
 * finds out who does not check. They are base64 by their characters, so they are named here.
 */
export function readSignature(headers: HeaderSource): SignatureHeaders | undefined {
  const [timestamp, nonce, serial, signature] = ['timestamp', 'nonce', 'serial', 'signature'].map(
    name => headers.get(`wechatpay-${name}`) ?? '',
  ) as [string, string, string, string]
  if (!/^[0-9]{1,12}$/.test(timestamp) || !/^[\x21-\x7e]{1,64}$/.test(nonce) || !isSerial(serial)) return undefined
  if (!/^[A-Za-z0-9+/]{64,1024}={0,2}$/.test(signature) || signature.startsWith('WECHATPAY/SIGNTEST/')) return undefined
  return { timestamp, nonce, serial, signature }
}

/** Of a certificate, or the id of a public key. */
function isSerial(text: string): boolean {
  return /^([0-9A-Fa-f]{8,64}|PUB_KEY_ID_[0-9A-Za-z]{1,64})$/.test(text)
}

export function isGenuine(key: KeyObject, rawBody: Uint8Array, headers: SignatureHeaders): boolean {
  const { timestamp, nonce, signature } = headers
  const message = Buffer.concat([Buffer.from(`${timestamp}\n${nonce}\n`), rawBody, Buffer.from('\n')])
  try {
    return verify('sha256', message, key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** Undefined: the key is another, or the text was changed. The last 16 bytes of the ciphertext are its tag. */
export function unseal(apiV3Key: string, { ciphertext, nonce, associated_data }: Sealed): string | undefined {
  const bytes = Buffer.from(ciphertext, 'base64')
  if (bytes.length < TAG_BYTES || Buffer.byteLength(nonce) !== NONCE_BYTES) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', apiV3Key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(associated_data ?? ''))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}
