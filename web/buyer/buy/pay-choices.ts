/**
 * The ways to pay that this page offers for a sale, in the sale's own order. Pure. Leaves out what this page can't do (a form of the
 * shop's own, a script inside the provider's app), and what does not suit the device: on a phone the code of a provider that can open its
 * app, on a desk the page made for phones. A provider none of whose methods suits keeps all that the page can do.
 */

import type { Sale } from '../shapes.ts'

export interface PayChoice {
  readonly provider: string
  readonly method: string
  /** A code is shown that the buyer scans with a phone. */
  readonly qr: boolean
}

type Offered = NonNullable<Sale['payment']>[number]
type Method = Offered['methods'][number]

/** By the provider's kind. */
const NOT_ON_THIS_PAGE: Readonly<Record<string, readonly string[]>> = { stripe: ['intent'], wechat: ['jsapi'] }
const MADE_FOR_PHONES: Readonly<Record<string, readonly string[]>> = { alipay: ['wap'], wechat: ['h5'] }
const MADE_FOR_DESKS: Readonly<Record<string, readonly string[]>> = { alipay: ['page'] }

/** `stripe.eu` is the account `eu` at `stripe`. */
export function kindOf(provider: string): string {
  return provider.split('.')[0] ?? provider
}

export function payChoices(offered: readonly Offered[], phone: boolean): readonly PayChoice[] {
  return offered.flatMap(({ provider, methods }) => {
    const kind = kindOf(provider)
    const usable = methods.filter(({ name }) => !NOT_ON_THIS_PAGE[kind]?.includes(name))
    const suited = usable.filter(method => suits(kind, method, phone))
    const chosen = suited.length > 0 ? suited : usable
    return chosen.map(({ name, qr }) => ({ provider, method: name, qr }))
  })
}

function suits(kind: string, { name, qr }: Method, phone: boolean): boolean {
  if (!phone) return !MADE_FOR_PHONES[kind]?.includes(name)
  return !qr && !MADE_FOR_DESKS[kind]?.includes(name)
}

export function sameChoice(
  one: PayChoice,
  other: { readonly provider: string; readonly method?: string | undefined },
): boolean {
  return one.provider === other.provider && one.method === other.method
}
