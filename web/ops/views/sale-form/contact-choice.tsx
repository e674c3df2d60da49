/** What a sale asks of its buyers before they pay. */

import { CONTACT_FIELDS } from '../../../../src/domain/parcel.ts'
import { contactWords } from '../../words/contact.ts'

interface Props {
  /** Names with commas between them. */
  readonly value: string
  readonly onInput: (value: string) => void
}

export function ContactChoice({ value, onInput }: Props) {
  const text = contactWords()
  const chosen = value.split(',')
  const toggled = (field: string) => CONTACT_FIELDS.filter(one => (one === field) !== chosen.includes(one)).join(',')
  return (
    <fieldset class="types">
      <legend>{text.asked}</legend>
      {CONTACT_FIELDS.map(field => (
        <label class="check" key={field}>
          <input
            type="checkbox"
            name={`contactFields.${field}`}
            checked={chosen.includes(field)}
            onChange={() => onInput(toggled(field))}
          />
          {text.fields[field]}
        </label>
      ))}
    </fieldset>
  )
}
