/** The form of a new sale or a draft. What the server refuses is shown next to the field. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { call, get, newKey } from '../../api.ts'
import { fromLocalInput } from '../../format.ts'
import { readLog } from '../../log-book.ts'
import { fieldWrong, wholeWrong } from '../../refusal.ts'
import { go } from '../../route.ts'
import type { Sale } from '../../shapes.ts'
import { notify, serverNow, store } from '../../store.ts'
import { words } from '../../words.ts'
import { Nothing } from '../app.tsx'
import { Field } from '../controls/field.tsx'
import { useEvery } from '../controls/hooks.ts'
import {
  bodyOf,
  formFieldOf,
  newItem,
  newSale,
  type TypedItem,
  type TypedSale,
  typedOf,
  type Wrongs,
} from './typed-sale.ts'

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
  if (draft.state !== 'draft')
    return (
      <section class="empty">
        <h1 tabIndex={-1}>{text.notDraft}</h1>
        <a class="button" href={`/ops/sales/${id}`}>
          {text.openSale}
        </a>
      </section>
    )
  return <SaleForm draft={draft} />
}

function SaleForm({ draft }: { readonly draft: Sale | undefined }) {
  const text = words()
  const of = draft?.id ?? ''
  const [kept] = useState(() => (store.typing?.of === of ? store.typing : undefined))
  const [typed, setTyped] = useState<TypedSale>(
    () => kept?.sale ?? (draft === undefined ? newSale(serverNow()) : typedOf(draft)),
  )
  const [wrongs, setWrongs] = useState<Wrongs>({})
  const [general, setGeneral] = useState<string>()
  const [working, setWorking] = useState(false)
  const [key, setKey] = useState(() => kept?.key ?? newKey())
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [wrongs])

  // Before the next paint: a session that ends in between must not lose the last keystroke.
  useLayoutEffect(() => {
    store.typing = { of, sale: typed, key }
  }, [typed, key])
  // Leaving the form discards it; the end of the session keeps it.
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
  const changeItem = (at: number, more: Partial<TypedItem>) =>
    change({ items: typed.items.map((item, i) => (i === at ? { ...item, ...more } : item)) })

  const send = async () => {
    if (working) return
    const made = bodyOf(typed)
    setGeneral(undefined)
    if ('wrongs' in made) return setWrongs(made.wrongs)
    setWorking(true)
    const reply =
      draft === undefined
        ? await call<Sale>('POST', '/api/admin/sales', { body: made.body, key })
        : await call<Sale>('PATCH', `/api/admin/sales/${draft.id}`, { body: made.body })
    setWorking(false)
    if (reply.kind === 'ok') {
      notify('done', draft === undefined ? text.created(reply.body.name) : text.saved(reply.body.name))
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

  const past = (value: string, words: string) => {
    const at = fromLocalInput(value)
    return at !== undefined && Date.parse(at) < serverNow() ? words : undefined
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
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
        {draft === undefined ? text.createTitle : text.editTitle(draft.name)}
      </h1>
      <p class="soft">
        {text.draftNote} {text.timeZone(zone)}.
      </p>
      <div class="card fields">
        <Field
          wide
          label={text.saleName}
          name="name"
          value={typed.name}
          onInput={name => change({ name })}
          wrong={wrongs.name}
        />
        <Field
          label={text.opens}
          name="opensAt"
          kind="datetime-local"
          value={typed.opensAt}
          onInput={opensAt => change({ opensAt })}
          wrong={wrongs.opensAt}
          hint={past(typed.opensAt, text.opensPast)}
        />
        <Field
          label={text.closes}
          name="closesAt"
          kind="datetime-local"
          value={typed.closesAt}
          onInput={closesAt => change({ closesAt })}
          wrong={wrongs.closesAt}
          hint={past(typed.closesAt, text.closesPast)}
        />
        <Field
          label={text.warmBefore}
          name="warmBeforeSeconds"
          numeric
          value={typed.warmBeforeSeconds}
          onInput={warmBeforeSeconds => change({ warmBeforeSeconds })}
          wrong={wrongs.warmBeforeSeconds}
        />
      </div>
      <h2>{text.items}</h2>
      {typed.items.map((item, i) => (
        <ItemFields
          key={item.key}
          no={i + 1}
          item={item}
          wrongs={wrongs}
          change={more => changeItem(i, more)}
          remove={
            typed.items.length === 1
              ? undefined
              : () => change({ items: typed.items.filter(other => other.key !== item.key) })
          }
        />
      ))}
      <p class="ways">
        {typed.items.length < ITEMS_MAX && (
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
          {working ? text.working : draft === undefined ? text.create : text.save}
        </button>
        <a class="button" href={draft === undefined ? '/ops' : `/ops/sales/${draft.id}`}>
          {text.cancel}
        </a>
      </p>
    </form>
  )
}

interface ItemFieldsProps {
  readonly no: number
  readonly item: TypedItem
  readonly wrongs: Wrongs
  readonly change: (more: Partial<TypedItem>) => void
  readonly remove: (() => void) | undefined
}

function ItemFields({ no, item, wrongs, change, remove }: ItemFieldsProps) {
  const text = words()
  const field = (name: Exclude<keyof TypedItem, 'key' | 'id'>, label: string) => ({
    label,
    name: `items.${no - 1}.${name}`,
    value: item[name],
    onInput: (value: string) => change({ [name]: value }),
    wrong: wrongs[`items.${no - 1}.${name}`],
  })
  // The buyer page's Content-Security-Policy allows pictures from its own site and over https only.
  const insecure = /^http:/i.test(item.image.trim()) && !item.image.trim().startsWith(`${location.origin}/`)
  return (
    <fieldset class="card">
      <legend>{text.item(`${no}`)}</legend>
      <div class="fields">
        <Field wide {...field('name', text.itemName)} />
        <Field numeric {...field('units', text.unitsOnSale)} />
        <Field numeric {...field('price', text.price)} />
        <Field {...field('currency', text.currency)} />
        <Field numeric optional {...field('listPrice', text.listPrice)} />
        <Field numeric {...field('quantityMax', text.quantityMax)} />
        <Field numeric {...field('attemptsMax', text.attemptsMax)} />
        <Field numeric {...field('payWithinSeconds', text.payWithin)} />
        <Field optional {...field('sku', text.sku)} />
        <Field
          wide
          optional
          kind="url"
          {...field('image', text.image)}
          hint={insecure ? text.imageInsecure : undefined}
        />
      </div>
      {remove !== undefined && (
        <p class="ways">
          <button type="button" class="button" onClick={remove}>
            {text.removeItem(`${no}`)}
          </button>
        </p>
      )}
    </fieldset>
  )
}
