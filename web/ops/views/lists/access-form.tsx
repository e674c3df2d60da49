/** The form that adds an entry to the access list. The server judges the value; what is wrong is shown beside it. */

import { useState } from 'preact/hooks'
import { call } from '../../api.ts'
import { fromLocalInput } from '../../format.ts'
import { wholeWrong } from '../../refusal.ts'
import type { AccessEntry } from '../../shapes.ts'
import { notify } from '../../store.ts'
import { listWords } from '../../words/lists.ts'
import { words } from '../../words.ts'
import { Field } from '../controls/field.tsx'

const SUBJECTS = ['address', 'prefix', 'buyer', 'claim'] as const

export function AccessForm({ onAdded }: { readonly onAdded: () => void }) {
  const text = listWords()
  const [kind, setKind] = useState<AccessEntry['kind']>('deny')
  const [subject, setSubject] = useState<AccessEntry['subject']>('prefix')
  const [value, setValue] = useState('')
  const [until, setUntil] = useState('')
  const [reason, setReason] = useState('')
  const [wrong, setWrong] = useState<string>()
  const add = async () => {
    const ends = until === '' ? undefined : fromLocalInput(until)
    const body = {
      kind,
      subject,
      value,
      ...(ends !== undefined && { until: ends }),
      ...(reason.trim() !== '' && { reason }),
    }
    const reply = await call<AccessEntry>('POST', '/api/admin/lists', { body })
    if (reply.kind !== 'ok') return setWrong(reply.kind === 'refused' ? wholeWrong(reply) : words().lost)
    setWrong(undefined)
    setValue('')
    setReason('')
    notify('done', text.added(reply.body.value))
    onAdded()
  }
  return (
    <form
      class="card fields"
      onSubmit={event => {
        event.preventDefault()
        void add()
      }}
    >
      <div class="field">
        <label for="access-kind">{text.kind}</label>
        <select
          id="access-kind"
          value={kind}
          onChange={event => setKind(event.currentTarget.value as AccessEntry['kind'])}
        >
          <option value="deny">{text.kinds.deny}</option>
          <option value="allow">{text.kinds.allow}</option>
        </select>
      </div>
      <div class="field">
        <label for="access-subject">{text.subject}</label>
        <select
          id="access-subject"
          value={subject}
          onChange={event => setSubject(event.currentTarget.value as AccessEntry['subject'])}
        >
          {SUBJECTS.map(one => (
            <option key={one} value={one}>
              {text.subjects[one]}
            </option>
          ))}
        </select>
      </div>
      <Field
        label={text.value}
        name="value"
        value={value}
        onInput={setValue}
        wrong={wrong}
        hint={text.hints[subject]}
      />
      <Field kind="datetime-local" optional label={text.until} name="until" value={until} onInput={setUntil} />
      <Field optional label={text.reason} name="reason" value={reason} onInput={setReason} />
      <p class="ways">
        <button type="submit" class="button main" data-action="add">
          {text.add}
        </button>
      </p>
    </form>
  )
}
