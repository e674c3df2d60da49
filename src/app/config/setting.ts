/** What a setting is, and the kinds of values that several settings share. The settings themselves are in `settings.ts`. */

import { z } from 'zod'
import { parseRate } from '../../admission/rate-limit-policy.ts'

/** Every setting as text: the environment's, or else its default. */
export type Texts = Readonly<Record<string, string | undefined>>

/** All there is to say about one setting: `S` reads its value, `D` is its text when unset. */
export interface Setting<S extends z.ZodType, D extends string | undefined> {
  /** Its sentence in docs/reference/configuration.md. */
  readonly about: string
  /** From its text to its value. */
  readonly schema: S
  /** Its text when it is unset. */
  readonly default?: D
  /** The same where other settings decide it: those declared above this one. */
  readonly unset?: (texts: Texts) => D
  /** The line that stops the start because of what the other settings are. */
  readonly conflict?: (texts: Texts, value: z.output<S>) => string | undefined
  /** The line that stops only a server: other commands work without it. */
  readonly missing?: (texts: Texts) => string | undefined
  /** False: the setting has no effect beside the others, and is shown as unset. */
  readonly applies?: (texts: Texts) => boolean
  /** How it is printed. A secret has to be hidden here. */
  readonly show?: (value: z.output<S> | undefined) => string | number | null
  /** False: its part does not exist yet, and setting it stops the start. */
  readonly built?: false
}

export type Value<T> =
  T extends Setting<infer S, infer D> ? z.output<S> | (D extends string ? never : undefined) : never

export const setting = <S extends z.ZodType, const D extends string | undefined = undefined>(one: Setting<S, D>) => one

/** A setting of a part that does not exist yet. */
export const notBuilt = (name: string) =>
  setting({
    about: '',
    schema: z.string(),
    built: false,
    conflict: () => `${name} is set, but the part it belongs to is not built yet: unset it`,
  })

export const onOff = z.enum(['on', 'off'], 'must be "on" or "off"').transform(value => value === 'on')

export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine(value => value >= min && value <= max, `must lie between ${min} and ${max}`)

export const list = z.string().transform(text => text.split(',').map(part => part.trim()))

export const secret = z.string().min(16, 'must have at least 16 characters')

export const webAddress = z.url({ protocol: /^https?$/, error: 'must be an http(s) address' })

/** Where keys or signed requests are sent: over TLS, or to this machine, for tests and proxies on it. */
export const secureAddress = webAddress.refine(text => {
  const url = URL.parse(text)
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(url?.hostname ?? '')
  return url !== null && (url.protocol === 'https:' || isHere) && !/[?#@]/.test(text)
}, 'must be an https address without a query and a password')

/** Read by `parse`, which throws what is wrong with the text. */
export const parsedBy = <T>(parse: (text: string) => T) =>
  z.string().transform((text, context): T => {
    try {
      return parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
      return z.NEVER
    }
  })

/** Checked by `parse`, and kept as text. */
export const checkedBy = (parse: (text: string) => unknown) =>
  parsedBy(text => {
    parse(text)
    return text
  })

export const rate = parsedBy(parseRate)

export const DAY_MS = 86_400_000

/** In milliseconds; undefined for `off`. */
export const days = z
  .string()
  .regex(/^([1-9][0-9]{0,3}d|0|off)$/, 'must be a number of days like 30d, or off')
  .transform(text => (text.endsWith('d') ? Number(text.slice(0, -1)) * DAY_MS : undefined))

export const HIDDEN = '[hidden]'

export const hide = (value: unknown) => (value === undefined ? null : HIDDEN)

/** An address without its secrets: a password may hold any character, also unescaped, and may stand behind the question mark. */
export function hideInAddress(address: string | undefined): string | null {
  if (address === undefined) return null
  return address
    .replace(/\/\/.*@/, `//${HIDDEN}@`)
    .replace(/([?&][^=&]*(?:pass|secret|key|token)[^=&]*=)[^&]*/gi, `$1${HIDDEN}`)
}
