/**
 * The form of a new sale, a draft, or a published sale, in which only what is safe can be changed. What the server refuses is shown next to
 * the field.
 */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { call, get, newKey } from '../../api.ts'
import { readLog } from '../../log-book.ts'
import { fieldWrong, wholeWrong } from '../../refusal.ts'
import { go } from '../../route.ts'
import type { Sale } from '../../shapes.ts'
import { notify, serverNow, store } from '../../store.ts'
import { editWords } from '../../words/edit.ts'
import { words } from '../../words.ts'
import { Nothing } from '../app.tsx'
import { useEvery } from '../controls/hooks.ts'
import { changesOf, fixedIn } from './fixed-fields.ts'
import { HoldFields } from './hold-fields.tsx'
import { ItemFields } from './item-fields.tsx'
import { LineFields } from './line-fields.tsx'
import { SaleFields } from './sale-fields.tsx'
import { bodyOf, formFieldOf, newItem, newSale, type TypedSale, typedOf, type Wrongs } from './typed-sale.ts'

const ITEMS_MAX = 100
const ASK_AGAIN_MS = 2_000

/** Without an id: a new sale. */
export function SaleFormView({ sale: id }: { readonly sale: string | undefined }) {
  const text = words()
  const [draft, setDraft] = useState<Sale | 'missing'>()
  useEvery(ASK_AGAIN_MS, id ?? '', async isCurrent => {
    if (id === undefined || draft !== undefined) return
    const reply = await get<Sale>(`/api/admin/sales/${id}`)
    if (!isCurrent()) return
    if (reply.kind === 'ok') setDraft(reply.body)
    else if (reply.kind === 'refused' && reply.status === 404) setDraft('missing')
  })
  if (id === undefined) return <SaleForm draft={undefined} />
  if (draft === undefined) return <p class="soft">{text.loading}</p>
  if (draft === 'missing') return <Nothing />
  return <SaleForm draft={draft} />
}

function SaleForm({ draft }: { readonly draft: Sale | undefined }) {
  const text = words()
  const { typed, key, change } = useTypedSale(draft)
  const published = draft !== undefined && draft.state !== 'draft'
  const fixed = fixedIn(draft, serverNow())
  const [wrongs, setWrongs] = useState<Wrongs>({})
  const [general, setGeneral] = useState<string>()
  const [working, setWorking] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [wrongs])

  const send = async () => {
    if (working) return
    const made = bodyOf(typed)
    setGeneral(undefined)
    if ('wrongs' in made) return setWrongs(made.wrongs)
    const body = published ? changesIn(made.body, draft) : made.body
    if (body === undefined) return setGeneral(editWords().unchanged)
    setWorking(true)
    const reply =
      draft === undefined
        ? await call<Sale>('POST', '/api/admin/sales', { body, key })
        : await call<Sale>('PATCH', `/api/admin/sales/${draft.id}`, { body })
    setWorking(false)
    if (reply.kind === 'ok') {
      const done = draft === undefined ? text.created : published ? editWords().saved : text.saved
      notify('done', done(reply.body.name))
      void readLog()
      return go(`/ops/sales/${reply.body.id}`)
    }
    if (reply.kind === 'lost') {
      setGeneral(text.lostSafe)
      return setWrongs({})
    }
    const field = formFieldOf(reply.field ?? '')
    // A field that is not on the form is named in the general message.
    const onForm = field !== '' && form.current?.querySelector(`[name="${CSS.escape(field)}"]`) != null
    if (!onForm) setGeneral(wholeWrong(reply))
    setWrongs(onForm ? { [field]: fieldWrong(reply) } : {})
  }

  return (
    <form
      ref={form}
      class="sale-form"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        void send()
      }}
    >
      <h1 tabIndex={-1} dir="auto">
        {draft === undefined ? text.createTitle : (published ? editWords().title : text.editTitle)(draft.name)}
      </h1>
      <p class="soft">
        {published ? editWords().note : text.draftNote}{' '}
        {text.timeZone(Intl.DateTimeFormat().resolvedOptions().timeZone)}.
      </p>
      <SaleFields typed={typed} wrongs={wrongs} fixed={fixed} change={change} />
      <LineFields typed={typed.line} wrongs={wrongs} fixed={fixed} change={line => change({ line })} />
      <HoldFields typed={typed.holds} wrongs={wrongs} change={holds => change({ holds })} />
      <h2>{text.items}</h2>
      {typed.items.map((item, i) => (
        <ItemFields
          key={item.key}
          no={i + 1}
          item={item}
          wrongs={wrongs}
          fixed={fixed}
          change={more => change({ items: typed.items.map(one => (one === item ? { ...item, ...more } : one)) })}
          remove={
            typed.items.length === 1 || published
              ? undefined
              : () => change({ items: typed.items.filter(one => one !== item) })
          }
        />
      ))}
      <p class="ways">
        {published && <span class="soft">{editWords().fixed.items}</span>}
        {!published && typed.items.length < ITEMS_MAX && (
          <button
            type="button"
            class="button"
            onClick={() => change({ items: [...typed.items, newItem(typed.items.at(-1)?.currency ?? 'CNY')] })}
          >
            {text.addItem}
          </button>
        )}
      </p>
      <p class="refused" role="alert">
        {general}
      </p>
      <p class="ways">
        <button type="submit" class="button main" aria-disabled={working}>
          {working ? text.working : draft === undefined ? text.create : published ? editWords().save : text.save}
        </button>
        <a class="button" href={draft === undefined ? '/ops' : `/ops/sales/${draft.id}`}>
          {text.cancel}
        </a>
      </p>
    </form>
  )
}

/** Undefined: nothing differs from the sale as it was read. */
function changesIn(body: unknown, read: Sale): unknown {
  const before = bodyOf(typedOf(read))
  return 'body' in before ? changesOf(body, before.body) : body
}

/** What is typed, under the idempotency key of its creation. It survives the end of the session, not leaving the form. */
function useTypedSale(draft: Sale | undefined) {
  const of = draft?.id ?? ''
  const [kept] = useState(() => (store.typing?.of === of ? store.typing : undefined))
  const [typed, setTyped] = useState<TypedSale>(
    () => kept?.sale ?? (draft === undefined ? newSale(serverNow()) : typedOf(draft)),
  )
  const [key, setKey] = useState(() => kept?.key ?? newKey())
  // Before the next paint: a session that ends in between must not lose the last keystroke.
  useLayoutEffect(() => {
    store.typing = { of, sale: typed, key }
  }, [typed, key])
  useEffect(
    () => () => {
      if (!store.expired) store.typing = undefined
    },
    [],
  )
  const change = (more: Partial<TypedSale>) => {
    setTyped(before => ({ ...before, ...more }))
    // A changed sale is another creation, with another key.
    setKey(newKey())
  }
  return { typed, key, change }
}
