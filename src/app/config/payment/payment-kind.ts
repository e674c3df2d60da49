/**
 * What a kind of payment provider declares of its settings. The settings file of a kind (`stripe-settings.ts`) exports one `paymentKind(…)`,
 * and `payment-settings.ts` names it. A setting is called by the kind and the rest of its name (`STRIPE_SECRET_KEY`), that of a further
 * account has the account between them (`STRIPE_EU_SECRET_KEY`).
 */

import type { z } from 'zod'

export interface KindSetting {
  /** Its sentence in docs/reference/configuration.md. */
  readonly about: string
  readonly schema: z.ZodType
  /** Its text when it is unset. */
  readonly default?: string
  /** A key or secret: hidden wherever settings are shown, and also read from the file that `…_FILE` names. */
  readonly key?: true
  /** A server does not start without it, if PAYMENT_PROVIDERS names the account. */
  readonly required?: true
  /** How it is printed; keys are hidden anyway. */
  readonly show?: (value: string | undefined) => string | null
}

type KindSettings = Readonly<Record<string, KindSetting>>

/** The values of an account, by the rest of the settings' names. */
export type KindValues<S extends KindSettings> = {
  readonly [Rest in keyof S]:
    | z.output<S[Rest]['schema']>
    | (S[Rest] extends { readonly required: true } | { readonly default: string } ? never : undefined)
}

export interface PaymentKind<S extends KindSettings = KindSettings> {
  readonly settings: S
  /** There can be only one account of it. */
  readonly single?: true
  /** What is wrong with an account's values together, as the line that stops a server. `nameOf` is a setting's whole name. */
  check?(values: KindValues<S>, nameOf: (rest: keyof S & string) => string): string | undefined
}

export const paymentKind = <const S extends KindSettings>(kind: PaymentKind<S>): PaymentKind<S> => kind
