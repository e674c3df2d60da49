/** The fields of a sale itself on its form: name, window, tickets, challenge, providers, contact. */

import { fromLocalInput } from '../../format.ts'
import { serverNow } from '../../store.ts'
import { words } from '../../words.ts'
import { Field } from '../controls/field.tsx'
import { ContactChoice } from './contact-choice.tsx'
import type { Fixed } from './fixed-fields.ts'
import type { TypedSale, Wrongs } from './typed-sale.ts'

interface SaleFieldsProps {
  readonly typed: TypedSale
  readonly wrongs: Wrongs
  readonly fixed: Fixed
  readonly change: (more: Partial<TypedSale>) => void
}

/** A difficulty that was set by another way is kept. */
function challengeChoices(now: string): readonly string[] {
  const usual = ['off', 'auto', '4', '16', '64']
  return usual.includes(now) ? usual : [...usual, now]
}

export function SaleFields({ typed, wrongs, fixed, change }: SaleFieldsProps) {
  const text = words()
  const field = (name: Exclude<keyof TypedSale, 'items' | 'holds' | 'line'>, label: string) => ({
    label,
    name,
    value: typed[name],
    onInput: (value: string) => change({ [name]: value }),
    wrong: wrongs[name],
    fixed: fixed(name),
  })
  const moment = (name: 'opensAt' | 'closesAt', label: string, past: string) => {
    const at = fromLocalInput(typed[name])
    const hint = fixed(name) ?? (at !== undefined && Date.parse(at) < serverNow() ? past : undefined)
    return <Field kind="datetime-local" {...field(name, label)} hint={hint} />
  }
  return (
    <div class="card fields">
      <Field wide {...field('name', text.saleName)} />
      <Field optional {...field('nameZh', text.nameZh)} />
      <Field optional {...field('nameEn', text.nameEn)} />
      {moment('opensAt', text.opens, text.opensPast)}
      {moment('closesAt', text.closes, text.closesPast)}
      <Field numeric {...field('warmBeforeSeconds', text.warmBefore)} />
      <Field numeric {...field('ticketsBeforeSeconds', text.ticketsBefore)} />
      <div class="field">
        <label for="sale-challenge">{text.challenge}</label>
        <select
          id="sale-challenge"
          value={typed.challenge}
          onChange={({ currentTarget }) => change({ challenge: currentTarget.value })}
        >
          {challengeChoices(typed.challenge).map(choice => (
            <option key={choice} value={choice}>
              {text.challenges[choice] ?? text.challengeTimes(choice)}
            </option>
          ))}
        </select>
      </div>
      <Field {...field('paymentProviders', text.paymentProviders)} hint={text.paymentProvidersHint} />
      <ContactChoice value={typed.contactFields} onInput={contactFields => change({ contactFields })} />
    </div>
  )
}
