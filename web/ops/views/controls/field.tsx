/** One labelled input, with its error and hint next to it. */

import { useId } from 'preact/hooks'
import { words } from '../../words.ts'

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly wrong?: string | undefined
  readonly hint?: string | undefined
  readonly kind?: 'text' | 'password' | 'datetime-local' | 'url' | 'search'
  readonly numeric?: boolean
  readonly optional?: boolean
  readonly name: string
  readonly wide?: boolean
  /** Of several lines; without it the field has one. */
  readonly rows?: number
  readonly autoComplete?: string
  /** Why it can't be changed: it is then read only, and says so. */
  readonly fixed?: string | undefined
}

export function Field(props: FieldProps) {
  const {
    label,
    value,
    onInput,
    wrong,
    fixed,
    hint = fixed,
    kind = 'text',
    numeric,
    optional,
    name,
    wide,
    rows,
    autoComplete = 'off',
  } = props
  const id = useId()
  const notes = [wrong !== undefined && `${id}-wrong`, hint !== undefined && `${id}-hint`].filter(Boolean).join(' ')
  const common = {
    id,
    name,
    value,
    autoComplete,
    readOnly: fixed !== undefined,
    'aria-invalid': wrong !== undefined,
    'aria-describedby': notes === '' ? undefined : notes,
  }
  return (
    <div class={wide ? 'field wide' : 'field'}>
      <label for={id}>
        {label}
        {optional && <span class="optional"> ({words().optional})</span>}
      </label>
      {rows === undefined ? (
        <input
          {...common}
          type={kind as 'text'}
          step={kind === 'datetime-local' ? 1 : undefined}
          inputMode={numeric ? 'decimal' : 'text'}
          dir={kind === 'text' && !numeric ? 'auto' : undefined}
          spellcheck={false}
          onInput={event => onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...common} rows={rows} dir="auto" onInput={event => onInput(event.currentTarget.value)} />
      )}
      {wrong !== undefined && (
        <p class="refused" id={`${id}-wrong`}>
          {wrong}
        </p>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
