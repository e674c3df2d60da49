/** The fields of a sale's limits of units that are held unpaid. Folded while nothing is limited. */

import { holdWords } from '../../words/holds.ts'
import { Field } from '../controls/field.tsx'
import { HOLD_FIELDS, type TypedHolds } from './typed-holds.ts'
import type { Wrongs } from './typed-sale.ts'

interface HoldFieldsProps {
  readonly typed: TypedHolds
  readonly wrongs: Wrongs
  readonly change: (holds: TypedHolds) => void
}

export function HoldFields({ typed, wrongs, change }: HoldFieldsProps) {
  const text = holdWords()
  const isUsed = HOLD_FIELDS.some(name => typed[name] !== '' || wrongs[`holds.${name}`] !== undefined)
  return (
    <details class="card" open={isUsed}>
      <summary>{text.limits}</summary>
      <p class="soft">{text.limitsNote}</p>
      <div class="fields">
        {HOLD_FIELDS.map(name => (
          <Field
            key={name}
            numeric={name !== 'perClaim'}
            name={`holds.${name}`}
            label={text.limit[name]}
            hint={text.limitHints[name]}
            value={typed[name]}
            wrong={wrongs[`holds.${name}`]}
            onInput={value => change({ ...typed, [name]: value })}
          />
        ))}
      </div>
    </details>
  )
}
