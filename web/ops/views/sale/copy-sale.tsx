/** Copies a sale into a new draft with an opening of its own, or keeps a copy as a template. */

import { useState } from 'preact/hooks'
import { call, newKey, type Unanswered } from '../../api.ts'
import { fromLocalInput, toLocalInput } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { fieldWrong } from '../../refusal.ts'
import { go } from '../../route.ts'
import type { Sale } from '../../shapes.ts'
import { mayRun, notify, serverNow } from '../../store.ts'
import { copyWords } from '../../words/copy.ts'
import { words } from '../../words.ts'
import { Dialog } from '../controls/dialog.tsx'
import { Field } from '../controls/field.tsx'
import { nextOpeningMs } from '../sale-form/typed-sale.ts'

type Kind = 'copy' | 'keep'

export function CopySale({ sale }: { readonly sale: Sale }) {
  const text = copyWords()
  const [asked, setAsked] = useState<Kind>()
  if (!mayRun()) return null
  const isTemplate = sale.template === true
  return (
    <>
      <button
        type="button"
        class={isTemplate ? 'button main' : 'button'}
        data-action="copy"
        onClick={() => setAsked('copy')}
      >
        {isTemplate ? text.fromTemplate : text.copy}
      </button>
      {!isTemplate && (
        <button type="button" class="button" data-action="keep" onClick={() => setAsked('keep')}>
          {text.keep}
        </button>
      )}
      {asked !== undefined && <CopyDialog sale={sale} kind={asked} onClose={() => setAsked(undefined)} />}
    </>
  )
}

interface CopyProps {
  readonly sale: Sale
  readonly kind: Kind
  readonly onClose: () => void
}

function CopyDialog({ sale, kind, onClose }: CopyProps) {
  const text = copyWords()
  const [name, setName] = useState(sale.name)
  const [opensAt, setOpensAt] = useState(() => toLocalInput(nextOpeningMs(serverNow())))
  const [key, setKey] = useState(newKey)
  const [badTime, setBadTime] = useState(false)
  // Another name or opening is another copy.
  const changed = (set: (value: string) => void) => (value: string) => {
    set(value)
    setKey(newKey())
    setBadTime(false)
  }
  const act = async () => {
    const at = fromLocalInput(opensAt)
    if (kind === 'copy' && at === undefined) {
      setBadTime(true)
      return undefined
    }
    const body = kind === 'copy' ? { name, opensAt: at } : { name, template: true }
    const reply = await call<Sale>('POST', `/api/admin/sales/${sale.id}/copy`, { body, key })
    if (reply.kind !== 'ok') return reply
    notify('done', (kind === 'copy' ? text.copied : text.kept)(reply.body.name))
    void readLog()
    go(kind === 'copy' ? `/ops/sales/${reply.body.id}/edit` : `/ops/sales/${reply.body.id}`)
    return reply
  }
  const wrongOf = (field: string, failed: Unanswered | undefined) =>
    failed?.kind === 'refused' && failed.field === field ? fieldWrong(failed) : undefined
  return (
    <Dialog
      title={(kind === 'copy' ? text.copyTitle : text.keepTitle)(sale.name)}
      what={kind === 'copy' ? text.copyWhat : text.keepWhat}
      confirm={kind === 'copy' ? text.copyConfirm : text.keepConfirm}
      safe
      fields={['name', 'opensAt']}
      act={act}
      onClose={onClose}
    >
      {failed => (
        <>
          <Field
            label={words().saleName}
            name="copy.name"
            value={name}
            onInput={changed(setName)}
            wrong={wrongOf('name', failed)}
          />
          {kind === 'copy' && (
            <Field
              kind="datetime-local"
              label={words().opens}
              name="copy.opensAt"
              value={opensAt}
              onInput={changed(setOpensAt)}
              wrong={badTime ? words().badTime : wrongOf('opensAt', failed)}
            />
          )}
        </>
      )}
    </Dialog>
  )
}
