/** The fields of a sale's waiting line. Folded while the sale has none; the fields of a draw are there where one is chosen. */

import { lineFormWords } from '../../words/line-form.ts'
import { Field } from '../controls/field.tsx'
import type { Fixed } from './fixed-fields.ts'
import { DRAW_FIELDS, LINE_FIELDS, type TypedLine } from './typed-line.ts'
import type { Wrongs } from './typed-sale.ts'

interface LineFieldsProps {
  readonly typed: TypedLine
  readonly wrongs: Wrongs
  readonly fixed: Fixed
  readonly change: (line: TypedLine) => void
}

const TIMES: readonly string[] = ['opensAt', 'sealsAt']
const NUMBERS: readonly string[] = ['claimWithinSeconds', 'beacon.round']
const ORDERS = ['', 'arrival', 'draw'] as const

export function LineFields({ typed, wrongs, fixed, change }: LineFieldsProps) {
  const text = lineFormWords()
  const why = fixed('line.order')
  const isUsed = typed.order !== '' || Object.keys(wrongs).some(path => path.startsWith('line'))
  const names = typed.order === '' ? [] : typed.order === 'draw' ? [...LINE_FIELDS, ...DRAW_FIELDS] : LINE_FIELDS
  return (
    <details class="card" open={isUsed}>
      <summary>{text.title}</summary>
      <p class="soft">{text.note}</p>
      <div class="fields">
        <div class="field">
          <label for="line-order">{text.order}</label>
          <select
            id="line-order"
            name="line.order"
            value={typed.order}
            disabled={why !== undefined}
            aria-describedby="line-order-hint"
            onChange={({ currentTarget }) => change({ ...typed, order: currentTarget.value as TypedLine['order'] })}
          >
            {ORDERS.map(order => (
              <option key={order} value={order}>
                {text.orders[order]}
              </option>
            ))}
          </select>
          <p class="hint" id="line-order-hint">
            {why ?? text.orderHints[typed.order]}
          </p>
        </div>
        {names.map(name => (
          <Field
            key={name}
            kind={TIMES.includes(name) ? 'datetime-local' : 'text'}
            numeric={NUMBERS.includes(name)}
            name={`line.${name}`}
            label={text.fields[name]}
            hint={fixed(`line.${name}`) ?? text.hints[name]}
            value={typed[name]}
            wrong={wrongs[`line.${name}`]}
            fixed={fixed(`line.${name}`)}
            onInput={value => change({ ...typed, [name]: value })}
          />
        ))}
      </div>
    </details>
  )
}
