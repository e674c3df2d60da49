/**
 * Which payment providers there are, and their settings. A new kind is one line in `PAYMENT_KINDS`, a settings file beside this one, and
 * how it is opened in `compose-payments.ts`.
 */

import { list, type Texts } from '../setting.ts'
import { alipayKind } from './alipay-settings.ts'
import {
  type AnySetting,
  accountSettings,
  accountsOf,
  furtherSettingsOf,
  paymentProvidersOf,
} from './payment-accounts.ts'
import { type KindValues, paymentKind } from './payment-kind.ts'
import { shopKind } from './shop-settings.ts'
import { stripeKind } from './stripe-settings.ts'
import { wechatKind } from './wechat-settings.ts'

const SANDBOX_METHODS = ['page', 'code']

const PAYMENT_KINDS = {
  stripe: stripeKind,
  alipay: alipayKind,
  wechat: wechatKind,
  sandbox: paymentKind({
    settings: {
      METHODS: {
        about: 'How the sandbox can be paid: page, code (shown as a QR code), or both. The first is the default.',
        schema: list.refine(
          names => names.every(name => SANDBOX_METHODS.includes(name)) && new Set(names).size === names.length,
          `must be one or both of: ${SANDBOX_METHODS.join(', ')}`,
        ),
        default: 'page',
      },
    },
    single: true,
  }),
  shop: shopKind,
}

type Kinds = typeof PAYMENT_KINDS
type KindName = keyof Kinds

/** An account that PAYMENT_PROVIDERS names, with its keys. */
export type PaymentAccount<Name extends KindName = KindName> = {
  readonly [K in Name]: {
    /** As in PAYMENT_PROVIDERS. */
    readonly name: string
    readonly kind: K
    readonly settings: KindValues<Kinds[K]['settings']>
  }
}[Name]

export const paymentProviders = paymentProvidersOf(PAYMENT_KINDS)

/** Of every kind, without accounts: those of docs/reference/configuration.md. */
export const PAYMENT_SETTINGS = Object.assign(
  {},
  ...Object.keys(PAYMENT_KINDS).map(kind => accountSettings(PAYMENT_KINDS, kind, undefined)),
) as Readonly<Record<`${Uppercase<KindName>}_${string}`, AnySetting>>

export const furtherSettings = (text: string | undefined) => furtherSettingsOf(PAYMENT_KINDS, text)

export function readAccounts(names: readonly string[], texts: Texts, values: Readonly<Record<string, unknown>>) {
  const { accounts, missing } = accountsOf(PAYMENT_KINDS, names, texts, values)
  return { accounts: accounts as unknown as readonly PaymentAccount[], missing }
}
