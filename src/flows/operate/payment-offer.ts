/**
 * Which payment providers a sale offers: those the operator has chosen, else all that are configured and take its currencies. Pure. A process
 * that has no provider judges nothing: only edges take payments.
 */

import type { Sale } from '../../domain/sale.ts'
import type { PaymentProvider } from '../../payment/payment.ts'

type Offered = Pick<PaymentProvider, 'name' | 'methods' | 'takes'>
export type Providers<P extends Offered = Offered> = ReadonlyMap<string, P>

type Offering = Pick<Sale, 'paymentProviders'> & {
  readonly items: readonly { readonly price: { readonly currency: string } }[]
}

/** In the operator's order, else in that of PAYMENT_PROVIDERS. */
export function offeredBy<P extends Offered>(providers: Providers<P>, sale: Offering): readonly P[] {
  const chosen = sale.paymentProviders ?? [...providers.keys()]
  return chosen.flatMap(name => {
    const provider = providers.get(name)
    // Without a method no payment can be started there: it is only reported.
    const startable = provider !== undefined && provider.methods.length > 0
    return startable && notTaken(provider, sale) === undefined ? provider : []
  })
}

/** As buyers see it. Undefined: this process has no provider. */
export function offersOf(providers: Providers, sale: Offering) {
  if (providers.size === 0) return undefined
  return offeredBy(providers, sale).map(({ name, methods }) => ({
    provider: name,
    methods: methods.map(method => ({ name: method.name, qr: method.qr })),
  }))
}

/** Why these names can't be chosen. */
export function choiceFault(providers: Providers, chosen: readonly string[] | null | undefined): string | undefined {
  const unknown = chosen?.find(name => !providers.has(name))
  if (unknown === undefined) return undefined
  return `"${unknown}" is not configured here; there are: ${[...providers.keys()].join(', ') || 'none'}`
}

/** The first currency that can't be paid: not at a provider that was chosen; without a choice, at none. */
export function currencyFault(providers: Providers, sale: Offering): string | undefined {
  for (const name of sale.paymentProviders ?? []) {
    const provider = providers.get(name)
    const currency = provider && notTaken(provider, sale)
    if (currency !== undefined) return `${name} does not take ${currency}`
  }
  const taken = [...providers.values()].some(provider => notTaken(provider, sale) === undefined)
  if (sale.paymentProviders !== undefined || providers.size === 0 || taken) return undefined
  const currencies = [...new Set(sale.items.map(item => item.price.currency))].join(' and ')
  return `no payment provider takes ${currencies}; there are: ${[...providers.keys()].join(', ')}`
}

function notTaken(provider: Pick<PaymentProvider, 'takes'>, sale: Offering): string | undefined {
  return sale.items.find(item => !provider.takes(item.price.currency))?.price.currency
}
