/**
 * The accounts that PAYMENT_PROVIDERS names: the kind alone (`stripe`), or with an account (`stripe.eu`), and the settings each of them has.
 *
 * Only the accounts it names must be whole, and only their key files are read. What is wrong with them stops a server and no other command:
 * a database is migrated where no key is.
 */

import { z } from 'zod'
import { readKeyFile } from '../key-file.ts'
import { hide, list, type Setting, setting, type Texts } from '../setting.ts'
import type { KindSetting, PaymentKind } from './payment-kind.ts'

type AnyKinds = Readonly<Record<string, PaymentKind>>
export type AnySetting = Setting<z.ZodType, string | undefined>
type NamedSettings = Readonly<Record<string, AnySetting>>

interface AccountName {
  readonly name: string
  readonly kind: string
  readonly account: string | undefined
}

function parseName(name: string): AccountName {
  const [kind = '', account] = name.split('.', 2)
  return { name, kind, account }
}

/** What is wrong with a name in PAYMENT_PROVIDERS. */
function nameProblem(kinds: AnyKinds, name: string): string | undefined {
  const { kind, account } = parseName(name)
  if (!Object.hasOwn(kinds, kind)) return `"${kind}" is none of those that are built: ${Object.keys(kinds).join(', ')}`
  if (account === undefined) return undefined
  if (!/^\w+\.[a-z0-9]{1,20}$/.test(name))
    return `the account in "${name}" must be 1 to 20 lower-case letters and digits, as in stripe.eu`
  return kinds[kind]!.single ? `${kind} has no accounts: write ${kind}` : undefined
}

/** The value of PAYMENT_PROVIDERS: the names, in order. */
export function paymentProvidersOf(kinds: AnyKinds) {
  return list.superRefine((names, context) => {
    const twice = names.find((name, at) => names.indexOf(name) !== at)
    const problem = names.map(name => nameProblem(kinds, name)).find(line => line !== undefined)
    const message = problem ?? (twice && `names ${twice} twice`)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
}

function settingName(kind: string, account: string | undefined, rest: string): string {
  return [kind, account, rest]
    .filter(part => part !== undefined)
    .join('_')
    .toUpperCase()
}

export function accountSettings(kinds: AnyKinds, kind: string, account: string | undefined): NamedSettings {
  const named: Record<string, AnySetting> = {}
  for (const [rest, one] of Object.entries<KindSetting>(kinds[kind]!.settings)) {
    const name = settingName(kind, account, rest)
    const { about, schema } = one
    const show = one.key ? hide : (one.show as AnySetting['show'])
    named[name] = setting({
      about: one.key ? `${about} Or ${name}_FILE: a file that holds it, read at the start.` : about,
      schema,
      ...(one.default !== undefined && { default: one.default }),
      ...(show !== undefined && { show }),
    })
    if (one.key)
      named[`${name}_FILE`] = setting({
        about: `The file that holds ${name}.`,
        schema: z.string(),
        conflict: texts =>
          texts[name] === undefined ? undefined : `${name} and ${name}_FILE are both set: unset one of them`,
      })
  }
  return named
}

/** Of the further accounts that a text of PAYMENT_PROVIDERS names. A name that is wrong is reported where the setting is read. */
export function furtherSettingsOf(kinds: AnyKinds, text: string | undefined): NamedSettings {
  const names = list.parse(text ?? '').filter(name => name.includes('.') && nameProblem(kinds, name) === undefined)
  return Object.assign(
    {},
    ...names.map(parseName).map(({ kind, account }) => accountSettings(kinds, kind, account)),
  ) as NamedSettings
}

/**
 * The accounts with their values, and the first line that stops a server.
 * @param values of the settings that were read; those in files are read here
 */
export function accountsOf(
  kinds: AnyKinds,
  names: readonly string[],
  texts: Texts,
  values: Readonly<Record<string, unknown>>,
) {
  const problems: string[] = []
  const accounts = names.map(parseName).map(({ name, kind: kindName, account }) => {
    const kind = kinds[kindName]!
    const nameOf = (rest: string) => settingName(kindName, account, rest)
    const settings: Record<string, unknown> = {}
    for (const [rest, one] of Object.entries(kind.settings)) {
      const whole = nameOf(rest)
      const file = one.key ? texts[`${whole}_FILE`] : undefined
      const read = file === undefined ? { value: values[whole] } : readKeyFile(file, one.schema)
      if ('problem' in read) problems.push(`${whole}_FILE: ${read.problem}`)
      else if (read.value === undefined && one.required)
        problems.push(`PAYMENT_PROVIDERS names ${name}, which needs ${whole}${one.key ? ` (or ${whole}_FILE)` : ''}`)
      else settings[rest] = read.value
    }
    const together = problems.length === 0 ? kind.check?.(settings, nameOf) : undefined
    if (together !== undefined) problems.push(together)
    return { name, kind: kindName, settings }
  })
  return { accounts, missing: problems[0] }
}
