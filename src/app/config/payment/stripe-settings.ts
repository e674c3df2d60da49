/** The settings of an account at Stripe. What a key may look like is Stripe's: `sk_` or, with fewer permissions, `rk_`; then the mode. */

import { z } from 'zod'
import { hideInAddress, secureAddress } from '../setting.ts'
import { paymentKind } from './payment-kind.ts'

const SECRETS_MAX = 10
const keyLike = (prefixes: string, like: string) =>
  z.string().regex(new RegExp(`^(${prefixes})_(test|live)_\\w{1,250}$`), `must be ${like}`)

export const stripeKind = paymentKind({
  settings: {
    SECRET_KEY: {
      about: "Stripe's secret or restricted key (sk_live_… or rk_live_…; with _test_, no money moves).",
      schema: keyLike('sk|rk', 'a secret key like sk_live_… or a restricted one like rk_live_…'),
      key: true,
      required: true,
    },
    WEBHOOK_SECRET: {
      about:
        'The signing secret of the webhook endpoint (whsec_…); several, separated by commas, while it is replaced.',
      schema: z
        .string()
        .transform(text => text.split(',').map(part => part.trim()))
        .refine(
          secrets => secrets.length <= SECRETS_MAX && secrets.every(secret => /^whsec_[\w+/=-]{8,250}$/.test(secret)),
          `must be signing secrets like whsec_…, separated by commas, at most ${SECRETS_MAX}`,
        ),
      key: true,
      required: true,
    },
    PUBLISHABLE_KEY: {
      about: "Given to a form of the shop's own with the method intent (pk_live_…). It is no secret.",
      schema: keyLike('pk', 'a publishable key like pk_live_…'),
    },
    API_BASE: {
      about: "Where Stripe's API is; another address only for tests and proxies.",
      schema: secureAddress.refine(text => URL.parse(text)?.pathname === '/', 'must be an address without a path'),
      default: 'https://api.stripe.com',
      show: value => hideInAddress(value),
    },
  },
  check: ({ SECRET_KEY, PUBLISHABLE_KEY }, nameOf) =>
    PUBLISHABLE_KEY !== undefined && modeOf(PUBLISHABLE_KEY) !== modeOf(SECRET_KEY)
      ? `${nameOf('SECRET_KEY')} and ${nameOf('PUBLISHABLE_KEY')} are of different modes: both must be test keys or live keys`
      : undefined,
})

const modeOf = (key: string) => key.split('_')[1]
