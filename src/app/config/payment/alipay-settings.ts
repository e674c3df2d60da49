/**
 * The settings of an Alipay account. In key mode Alipay's public key is a setting; in certificate mode three certificates are. Keys are read
 * here, so that a broken one stops the start with one line.
 */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { checkedBy, list, parsedBy, secureAddress } from '../setting.ts'
import { paymentKind } from './payment-kind.ts'

const BITS_MIN = 2048
const METHODS = ['page', 'wap', 'qr'] as const

/** As Alipay's tools write keys: PEM, or its base64 alone. In an environment variable line ends are often written as \n. */
function derOf(text: string): Buffer | undefined {
  const bare = text
    .replaceAll('\\n', '\n')
    .replace(/-----(BEGIN|END) [A-Z ]+-----/g, '')
    .replace(/\s/g, '')
  return /^[A-Za-z0-9+/]+={0,2}$/.test(bare) ? Buffer.from(bare, 'base64') : undefined
}

function firstKey(readers: readonly (() => KeyObject)[], problem: string): KeyObject {
  for (const read of readers) {
    try {
      const key = read()
      if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= BITS_MIN) return key
    } catch {
      // The next form is tried. What a library says of a broken key is not repeated: it may quote it.
    }
  }
  throw new Error(problem)
}

const privateKey = parsedBy(text => {
  const key = derOf(text) ?? Buffer.alloc(0)
  const forms = ['pkcs8', 'pkcs1'] as const
  return firstKey(
    forms.map(type => () => createPrivateKey({ key, format: 'der', type })),
    'must be an RSA private key of 2048 bits or more, PKCS #1 or PKCS #8, as PEM or base64',
  )
})

const publicKey = parsedBy(text =>
  firstKey(
    [() => createPublicKey({ key: derOf(text) ?? Buffer.alloc(0), format: 'der', type: 'spki' })],
    "must be Alipay's RSA public key of 2048 bits or more, as PEM or base64",
  ),
)

const certificates = (what: string) =>
  checkedBy(text => {
    const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    try {
      if (found.length === 0) throw new Error('none')
      for (const one of found) new X509Certificate(one)
    } catch {
      throw new Error(`must be ${what}, as PEM (-----BEGIN CERTIFICATE-----)`)
    }
  })

const methods = list.refine(
  names => names.length === new Set(names).size && names.every(name => (METHODS as readonly string[]).includes(name)),
  `must be some of ${METHODS.join(', ')}, each once`,
)

const CERTIFICATE_SETTINGS = ['APP_CERT', 'PUBLIC_CERT', 'ROOT_CERT'] as const

export const alipayKind = paymentKind({
  settings: {
    APP_ID: {
      about: "The app's id at Alipay (APPID).",
      schema: z.string().regex(/^\d{10,20}$/, 'must be the digits of an APPID'),
      required: true,
    },
    PRIVATE_KEY: {
      about: "The app's private key (应用私钥), RSA, PKCS #1 or PKCS #8, as PEM or base64.",
      schema: privateKey,
      key: true,
      required: true,
    },
    PUBLIC_KEY: {
      about: "Alipay's public key for the app (支付宝公钥), not the app's own: for key mode.",
      schema: publicKey,
      key: true,
    },
    APP_CERT: {
      about: "The app's certificate (appCertPublicKey_….crt): for certificate mode, with the next two.",
      schema: certificates("the app's certificate"),
      key: true,
    },
    PUBLIC_CERT: {
      about:
        "Alipay's certificate for the app (alipayCertPublicKey_RSA2.crt). When Alipay changes it, the new one is fetched.",
      schema: certificates("Alipay's certificate"),
      key: true,
    },
    ROOT_CERT: {
      about: "Alipay's root certificates (alipayRootCert.crt), which its certificate must lead to.",
      schema: certificates("Alipay's root certificates"),
      key: true,
    },
    SELLER_ID: {
      about: 'The account that is paid (PID, 2088…). Unset: the seller of a notice is not compared.',
      schema: z.string().regex(/^2088\d{12}$/, 'must be 16 digits that begin with 2088'),
    },
    METHODS: {
      about:
        'What the account has signed up for: page (computer), wap (phone), qr (a code to scan); the first is the default.',
      schema: methods,
      default: 'page,wap,qr',
      show: value => (value as unknown as readonly string[] | undefined)?.join(',') ?? null,
    },
    GATEWAY: {
      about: "Alipay's gateway; for its sandbox https://openapi-sandbox.dl.alipaydev.com/gateway.do.",
      schema: secureAddress,
      default: 'https://openapi.alipay.com/gateway.do',
    },
  },
  check(values, nameOf) {
    const given = CERTIFICATE_SETTINGS.filter(name => values[name] !== undefined)
    const [missing] = CERTIFICATE_SETTINGS.filter(name => values[name] === undefined)
    if (given.length === 0)
      return values.PUBLIC_KEY === undefined
        ? `${nameOf('PUBLIC_KEY')} is needed (or, for certificate mode, ${CERTIFICATE_SETTINGS.map(nameOf).join(', ')})`
        : ownPublicKey(values.PRIVATE_KEY, values.PUBLIC_KEY, nameOf)
    if (missing !== undefined) return `${nameOf(given[0]!)} needs ${nameOf(missing)}: certificate mode takes all three`
    if (values.PUBLIC_KEY !== undefined)
      return `${nameOf('PUBLIC_KEY')} is for key mode, and ${nameOf('PUBLIC_CERT')} for certificate mode: unset one of them`
    return new X509Certificate(values.APP_CERT!).checkPrivateKey(values.PRIVATE_KEY)
      ? undefined
      : `${nameOf('APP_CERT')} is not the certificate of ${nameOf('PRIVATE_KEY')}`
  },
})

/** The usual mistake: the two public keys stand side by side on Alipay's page. */
function ownPublicKey(own: KeyObject, given: KeyObject, nameOf: (rest: 'PRIVATE_KEY' | 'PUBLIC_KEY') => string) {
  const isOwn = createPublicKey(own as never).equals(given)
  return isOwn ? `${nameOf('PUBLIC_KEY')} is the app's own public key (应用公钥): set Alipay's (支付宝公钥)` : undefined
}
