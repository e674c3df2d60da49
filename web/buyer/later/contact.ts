/**
 * The form for the buyer's contact: what the sale asks for, filled with what is known, and what was said with a button to change it. Loaded when an order of
 * such a sale is to be paid. Draws itself, so that it needs nothing of the page's own script.
 */

import { call, getJson } from '../api.ts'
import { contactWords } from '../words/contact.ts'

type Field = 'email' | 'phone' | 'name' | 'address'
type Contact = { readonly [One in Field]?: string }

interface ContactWish {
  readonly order: string
  readonly fields: readonly Field[] | undefined
  /** Of the page's texts. */
  readonly locale: string
  readonly onSaid: (said: boolean) => void
  /** To a screen reader. */
  readonly announce: (text: string) => void
}

const FIELDS: readonly Field[] = ['name', 'email', 'phone', 'address']
/** What browsers fill in by themselves, and which keyboard a phone shows. */
const HINTS: Readonly<Record<Field, Readonly<Record<string, string>>>> = {
  name: { autocomplete: 'name', maxlength: '200' },
  email: { autocomplete: 'email', inputmode: 'email', maxlength: '254' },
  phone: { autocomplete: 'tel', inputmode: 'tel', maxlength: '40' },
  address: { autocomplete: 'street-address', rows: '3', maxlength: '500' },
}

export async function showContact(frame: HTMLElement, wish: ContactWish): Promise<void> {
  const text = contactWords(wish.locale)
  frame.replaceChildren(make('p', { class: 'note' }, text.busy))
  const reply = await getJson<{ readonly contact?: Contact }>(`/api/orders/${wish.order}`)
  const known = reply.kind === 'ok' ? (reply.body.contact ?? {}) : {}
  const asked = FIELDS.filter(field => wish.fields?.includes(field) ?? true)
  if (asked.every(field => known[field] !== undefined)) showSaid(known, false)
  else showForm(known, false)

  function showSaid(contact: Contact, takesFocus: boolean): void {
    const lines = asked.flatMap(field => [make('dt', {}, text.labels[field]), make('dd', {}, contact[field] ?? '')])
    const change = make('button', { type: 'button', class: 'plain-button' }, text.change)
    change.addEventListener('click', () => showForm(contact, true))
    frame.replaceChildren(
      make(
        'section',
        { class: 'contact', 'aria-label': text.titleSaid },
        make('h3', {}, text.titleSaid),
        make('dl', {}, ...lines),
        change,
      ),
    )
    if (takesFocus) change.focus()
    wish.onSaid(true)
  }

  function showForm(contact: Contact, takesFocus: boolean): void {
    wish.onSaid(false)
    const inputs = new Map(asked.map(field => [field, inputOf(field, contact[field] ?? '')]))
    const save = make('button', { type: 'submit', class: 'main-button' }, text.save)
    const problem = make('p', { class: 'note problem', role: 'alert' })
    const rows = [...inputs].map(([field, input]) =>
      make(
        'p',
        { class: 'contact-field' },
        make('label', { for: input.id }, text.labels[field]),
        input,
        faultOf(input),
      ),
    )
    const form = make(
      'form',
      { class: 'contact', novalidate: '', 'aria-label': text.title },
      make('h3', {}, text.title),
      make('p', { class: 'note' }, text.intro),
      ...rows,
      problem,
      save,
    )
    form.addEventListener('submit', event => {
      event.preventDefault()
      void send()
    })
    frame.replaceChildren(form)
    if (takesFocus) inputs.get(asked[0]!)?.focus()

    let sending = false
    async function send(): Promise<void> {
      if (sending) return
      const said = Object.fromEntries([...inputs].map(([field, input]) => [field, input.value.trim()])) as Contact
      const empty = asked.find(field => said[field] === '')
      for (const field of asked) mark(inputs.get(field)!, said[field] === '' ? text.wrong[field] : '')
      if (empty !== undefined) return inputs.get(empty)!.focus()
      sending = true
      save.setAttribute('aria-disabled', 'true')
      save.textContent = text.saving
      problem.textContent = ''
      const reply = await call<{ readonly contact: Contact }>('PATCH', `/api/orders/${wish.order}`, {
        body: { contact: said },
      })
      sending = false
      save.removeAttribute('aria-disabled')
      save.textContent = text.save
      if (reply.kind === 'ok') {
        wish.announce(text.saved)
        return showSaid(reply.body.contact, true)
      }
      const wrong = asked.find(field => reply.kind === 'refused' && reply.body.field === `contact.${field}`)
      if (wrong !== undefined) {
        mark(inputs.get(wrong)!, text.wrong[wrong])
        return inputs.get(wrong)!.focus()
      }
      const ended = reply.kind === 'refused' && (reply.code === 'order_paid' || reply.code === 'order_closed')
      problem.textContent = ended ? text.tooLate : text.notSaved
    }
  }

  function inputOf(field: Field, value: string): HTMLInputElement | HTMLTextAreaElement {
    const id = `contact-${wish.order}-${field}`
    const common = { id, name: field, required: '', 'aria-describedby': `${id}-fault`, ...HINTS[field] }
    const input = field === 'address' ? make('textarea', common) : make('input', { ...common, type: 'text' })
    input.value = value
    return input
  }
}

function faultOf(input: HTMLElement): HTMLElement {
  return make('span', { id: `${input.id}-fault`, class: 'note problem' })
}

/** An empty text: nothing is wrong with it. */
function mark(input: HTMLElement, fault: string): void {
  input.setAttribute('aria-invalid', String(fault !== ''))
  const frame = input.ownerDocument.getElementById(`${input.id}-fault`)
  if (frame !== null) frame.textContent = fault
}

/** Texts are text, never markup. */
function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (HTMLElement | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...children)
  return made
}
