/** The settings of WeChat Pay. What they hold is checked as far as it can be without asking WeChat Pay; a message never tells a key. */

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { checkedBy, list, parsedBy, secureAddress } from '../setting.ts'
import { paymentKind } from './payment-kind.ts'

const METHODS = ['native', 'h5', 'jsapi'] as const
const BITS_MIN = 2048
const PUBLIC_KEY =
  /(PUB_KEY_ID_[0-9A-Za-z]{1,64})\s+(-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----)\s*/gy

const privateKey = checkedBy(text =>
  readRsa(() => createPrivateKey(unescaped(text)), 'private key in PEM (apiclient_key.pem)'),
)

const publicKeys = parsedBy(text => {
  const keys = [...unescaped(text).trim().matchAll(PUBLIC_KEY)]
  const whole = keys.map(([match]) => match).join('')
  if (keys.length === 0 || whole.length !== unescaped(text).trim().length)
    throw new Error('must be the id (PUB_KEY_ID_…), a line break and the public key in PEM; several: the newest first')
  return keys.map(([, id, pem]) => {
    readRsa(() => createPublicKey(pem!), 'public key in PEM')
    return { id: id!, pem: pem! }
  })
})

export const wechatKind = paymentKind({
  settings: {
    MCH_ID: {
      about: 'WeChat Pay: the number of the merchant (商户号).',
      schema: z.string().regex(/^[0-9]{6,32}$/, 'must be the digits of a merchant number'),
      required: true,
    },
    APP_ID: {
      about: 'WeChat Pay: the app (AppID) that is bound to the merchant.',
      schema: z.string().regex(/^w[wx][0-9A-Za-z]{16}$/, 'must be wx and 16 letters and digits'),
      required: true,
    },
    API_V3_KEY: {
      about: 'WeChat Pay: the API v3 key (APIv3密钥), which decrypts callbacks and certificates.',
      schema: z.string().regex(/^[\x21-\x7e]{32}$/, 'must have exactly 32 characters, without spaces'),
      key: true,
      required: true,
    },
    PRIVATE_KEY: {
      about: "WeChat Pay: the merchant's private key in PEM (apiclient_key.pem), which signs requests.",
      schema: privateKey.transform(unescaped),
      key: true,
      required: true,
    },
    SERIAL_NO: {
      about: "WeChat Pay: the serial number of the merchant's certificate (商户API证书序列号).",
      schema: z.string().regex(/^[0-9A-Fa-f]{8,64}$/, 'must be the hexadecimal serial number of the certificate'),
      required: true,
    },
    PUBLIC_KEY: {
      about:
        'WeChat Pay: the key with which WeChat Pay signs (微信支付公钥): its id (PUB_KEY_ID_…), a line break, the key in PEM. Several, the newest first, while it is replaced. Unset: platform certificates, which are downloaded. Where it is set, certificates are still accepted.',
      schema: publicKeys,
      key: true,
    },
    API_BASE: {
      about: 'WeChat Pay: where its API is.',
      schema: secureAddress
        .refine(text => URL.parse(text)?.pathname === '/', 'must be an address without a path')
        .transform(text => new URL(text).origin),
      default: 'https://api.mch.weixin.qq.com',
    },
    METHODS: {
      about:
        'WeChat Pay: the ways to pay that are offered, the default first: native (a code to scan), h5 (a phone outside WeChat), jsapi (inside WeChat). Each must be opened in the merchant platform.',
      schema: list.pipe(
        z
          .array(z.enum(METHODS, `must be a list of ${METHODS.join(', ')}`))
          .refine(names => new Set(names).size === names.length, 'names one twice'),
      ),
      default: 'native',
    },
  },
})

/** A PEM in one line, as some tools pass it. */
function unescaped(text: string): string {
  return text.replaceAll('\\n', '\n')
}

function readRsa(read: () => KeyObject, what: string): void {
  let key: KeyObject | undefined
  try {
    key = read()
  } catch {
    // What is wrong in detail could tell a part of the key.
  }
  if (key?.asymmetricKeyType !== 'rsa') throw new Error(`must be an RSA ${what}`)
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < BITS_MIN) throw new Error(`must have at least ${BITS_MIN} bits`)
}
