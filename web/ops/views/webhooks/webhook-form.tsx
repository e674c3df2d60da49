/** Adds a webhook, or changes one: its address, what it is for, and the types of events it gets. */

import { useId, useState } from 'preact/hooks'
import { call, type Unanswered } from '../../api.ts'
import { readLog } from '../../log-book.ts'
import { fieldWrong } from '../../refusal.ts'
import { EVENT_NAMES, type Webhook, type WebhookWithSecret } from '../../shapes.ts'
import { notify } from '../../store.ts'
import { webhookWords } from '../../words/webhooks.ts'
import { Dialog } from '../controls/dialog.tsx'
import { Field } from '../controls/field.tsx'

interface WebhookFormProps {
  /** Undefined: a new one. */
  readonly webhook: Webhook | undefined
  readonly onSaved: (saved: WebhookWithSecret) => void
  readonly onClose: () => void
}

export function WebhookForm({ webhook, onSaved, onClose }: WebhookFormProps) {
  const text = webhookWords()
  const id = useId()
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [about, setAbout] = useState(webhook?.about ?? '')
  const [types, setTypes] = useState<readonly string[]>(webhook?.types ?? [])
  const act = async () => {
    const body = { url: url.trim(), about: about.trim(), types }
    const reply =
      webhook === undefined
        ? await call<WebhookWithSecret>('POST', '/api/admin/webhooks', { body })
        : await call<WebhookWithSecret>('PATCH', `/api/admin/webhooks/${webhook.id}`, { body })
    if (reply.kind !== 'ok') return reply
    notify('done', webhook === undefined ? text.added : text.saved)
    onSaved(reply.body)
    void readLog()
    return reply
  }
  const wrong = (failed: Unanswered | undefined, field: string) =>
    failed?.kind === 'refused' && failed.field === field ? fieldWrong(failed) : undefined
  const toggle = (type: string, on: boolean) =>
    setTypes(before => (on ? [...before, type] : before.filter(one => one !== type)))
  return (
    <Dialog
      title={webhook === undefined ? text.addTitle : text.editTitle}
      what={webhook === undefined ? text.addWhat : text.editWhat}
      confirm={webhook === undefined ? text.addConfirm : text.save}
      fields={['url', 'about']}
      act={act}
      onClose={onClose}
    >
      {failed => (
        <>
          <Field label={text.url} name="url" kind="url" value={url} onInput={setUrl} wrong={wrong(failed, 'url')} />
          <Field
            label={text.about}
            name="about"
            value={about}
            onInput={setAbout}
            wrong={wrong(failed, 'about')}
            optional
          />
          <fieldset class="types" aria-describedby={`${id}-note`}>
            <legend>{text.types}</legend>
            <p class="hint" id={`${id}-note`}>
              {text.typesNote}
            </p>
            {EVENT_NAMES.map(type => (
              <label class="check" key={type}>
                <input
                  type="checkbox"
                  name={type}
                  checked={types.includes(type)}
                  onChange={event => toggle(type, event.currentTarget.checked)}
                />
                <code>{type.replace('stampede.', '')}</code>
              </label>
            ))}
          </fieldset>
        </>
      )}
    </Dialog>
  )
}
