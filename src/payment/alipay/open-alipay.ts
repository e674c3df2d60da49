/** An Alipay account from its settings: key mode, or certificate mode where certificates are set. */

import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { Alipay } from './alipay.ts'
import { readCertificates } from './alipay-certificates.ts'
import { trustInCertificates, trustInKey } from './alipay-trust.ts'

interface AlipaySettings {
  readonly APP_ID: string
  readonly PRIVATE_KEY: KeyObject
  readonly PUBLIC_KEY?: KeyObject | undefined
  readonly APP_CERT?: string | undefined
  readonly PUBLIC_CERT?: string | undefined
  readonly ROOT_CERT?: string | undefined
  readonly SELLER_ID?: string | undefined
  readonly METHODS: readonly string[]
  readonly GATEWAY: string
}

interface AlipayAround {
  /** As in PAYMENT_PROVIDERS. */
  readonly name: string
  readonly publicUrl: () => string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

export function openAlipay(settings: AlipaySettings, around: AlipayAround): Alipay {
  const { APP_CERT: appCert = '', PUBLIC_CERT: publicCert = '', ROOT_CERT: rootCert = '' } = settings
  const ends = [appCert, publicCert].flatMap(readCertificates).map(one => Date.parse(one.validTo))
  return new Alipay({
    ...around,
    appId: settings.APP_ID,
    sellerId: settings.SELLER_ID,
    gateway: settings.GATEWAY,
    privateKey: settings.PRIVATE_KEY,
    methods: settings.METHODS,
    trust: settings.PUBLIC_KEY
      ? trustInKey(settings.PUBLIC_KEY)
      : trustInCertificates({ appCert, publicCert, rootCert }, () => around.clock.now(), around.log),
    certificatesEndMs: ends.length === 0 ? undefined : Math.min(...ends),
  })
}
