/**
 * `<stampede-button sale="…" item="…">`: the whole of buying as one element for any page. Countdown, quantity, the button in every state, and the
 * way to pay. It follows the sale by itself, and finds the buyer's order again after a reload or on another device.
 *
 *   url         where Stampede is; left out: the page's own origin       return-url   where the buyer comes back to after paying
 *   lang        `zh…` or English; left out: the page's language          token        a property: the buyer's token, or a function that gets one
 *
 * Events, all bubbling: `stampede-state` ({kind}), `stampede-order` ({order}), `stampede-sign-in` (cancel it to sign the buyer in yourself; otherwise the
 * page goes to the SIGN_IN_URL of the server), `stampede-pay` ({payment}; cancel it to show the payment yourself), `stampede-contact` ({order, missing}: the
 * sale asks for a contact before the payment; `client.setContact`).
 */

import { type ButtonState, buttonState, type Doing } from '../../web/buyer/buy/button-state.ts'
import { lineStep } from '../../web/buyer/line/line-step.ts'
import { ButtonLine } from './button-line.ts'
import { STYLE } from './button-style.ts'
import { type Words, wordsFor } from './button-words.ts'
import { type Connection, type Order, type Sale, type Session, StampedeClient, StampedeFailure } from './index.ts'
import { sleep } from './pauses.ts'

const POLL_MS = 3_000
const COOL_MS = 3_000
const TICK_MS = 250
const PRESSABLE = new Set(['live', 'placed', 'signed_out', 'join', 'missed'])
const NOTHING: Doing = { kind: 'nothing' }

export class StampedeButton extends HTMLElement {
  static readonly observedAttributes = ['sale', 'item', 'url', 'lang']
  #token: Connection['token']
  readonly #root = this.attachShadow({ mode: 'open' })
  #life = new AbortController()
  #client = new StampedeClient()
  #sale: Sale | undefined
  #session: Session | undefined
  #order: Order | undefined
  #line: ButtonLine | undefined
  #doing: Doing = NOTHING
  #nowMs = () => Date.now()
  #quantity = 1
  #refused = ''
  #qr = ''
  #ticket: string | undefined
  #shown = ''
  /** The last call got an answer. */
  #reachable = true

  get token(): Connection['token'] {
    return this.#token
  }

  set token(token: Connection['token']) {
    this.#token = token
    if (this.isConnected) this.#begin()
  }

  connectedCallback(): void {
    // Set before this script was loaded, it lies on the element itself and hides ours.
    if (Object.hasOwn(this, 'token')) {
      this.#token = (this as { token?: Connection['token'] }).token
      Reflect.deleteProperty(this, 'token')
    }
    this.#root.innerHTML = `<style>${STYLE}</style>
<p class="clock" part="clock" hidden></p>
<fieldset class="quantity" part="quantity" hidden><button type="button" data-step="-1">−</button><output aria-live="polite">1</output><button type="button" data-step="1">+</button></fieldset>
<button type="button" class="main" part="button" aria-disabled="true" aria-describedby="note"></button>
<p class="note" part="note" id="note" role="status"></p>`
    this.#find('.main').addEventListener('click', () => void this.#press())
    for (const step of this.#root.querySelectorAll<HTMLElement>('[data-step]'))
      step.addEventListener('click', () => this.#choose(this.#quantity + Number(step.dataset.step)))
    this.#begin()
  }

  disconnectedCallback(): void {
    this.#life.abort()
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected) return
    if (name === 'lang' && this.#root.childElementCount > 0) this.#draw()
    else this.#begin()
  }

  #begin(): void {
    if (this.#root.childElementCount === 0) return
    this.#life.abort()
    this.#life = new AbortController()
    this.#sale = this.#session = this.#order = this.#ticket = this.#line = undefined
    this.#doing = NOTHING
    const url = this.getAttribute('url') ?? undefined
    this.#client = new StampedeClient({
      ...(url !== undefined && { url }),
      ...(this.#token !== undefined && { token: this.#token }),
    })
    this.#draw()
    void this.#follow(this.#life.signal)
  }

  /** Reads sale and order again and again, rarely in a hidden page. What fails is tried again. */
  async #follow(life: AbortSignal): Promise<void> {
    const client = this.#client
    const stop = { news: () => {} }
    life.addEventListener('abort', () => stop.news())
    void this.#tick(life)
    while (!life.aborted) {
      try {
        const serverMs = await client.serverNowMs()
        const offsetMs = serverMs - performance.now()
        this.#nowMs = () => performance.now() + offsetMs
        const sale = await client.sale(this.getAttribute('sale') ?? '')
        if (this.#session?.buyer == null) {
          this.#session = await client.session().catch(() => ({ buyer: null, guests: false }))
          if (this.#session.buyer === null && this.#session.guests && this.#token === undefined)
            this.#session = { buyer: (await client.signInAsGuest()).buyer, guests: true }
          if (this.#session.buyer !== null && !life.aborted) {
            stop.news = client.watch(news => {
              if (news.type === 'order') this.#note(news.order)
              else if (news.type === 'line') this.#line?.hear(news)
            })
            for (const order of (await client.orders()).orders.toReversed()) this.#note(order)
            void this.#fetchTicket(sale, life)
          }
        }
        if (life.aborted) return
        this.#sale = sale
        this.#reachable = true
        if (sale.line !== undefined && this.#session.buyer !== null) {
          this.#line ??= new ButtonLine(client, sale.id, () => this.#draw())
          await this.#line.look(this.#nowMs() >= Date.parse(sale.line.opensAt))
        }
        this.#draw()
      } catch (error) {
        if (error instanceof StampedeFailure && error.code === 'not_found') return this.#say('over')
        this.#reachable = false
      }
      await wait((document.hidden ? 10 : 1) * POLL_MS * (0.75 + Math.random() / 2), life)
    }
  }

  /** Countdowns go on between two answers. */
  async #tick(life: AbortSignal): Promise<void> {
    while (!life.aborted) {
      if (this.#sale !== undefined) this.#draw()
      await wait(TICK_MS, life)
    }
  }

  /** Before the crowd comes; without one, the press gets it. */
  async #fetchTicket(sale: Sale, life: AbortSignal): Promise<void> {
    const item = this.getAttribute('item') ?? ''
    if (this.#nowMs() >= Date.parse(sale.opensAt) || sale.challenge !== 'off' || sale.line !== undefined) return
    await wait(this.#client.ticketMomentMs(sale) - this.#nowMs(), life)
    if (life.aborted || this.#sale?.opensAt !== sale.opensAt) return
    this.#ticket = (await this.#client.ticket(sale.id, item, { signal: life }).catch(() => undefined))?.ticket
  }

  async #press(): Promise<void> {
    const state = this.#state()
    if (state?.kind === 'live') await this.#buy()
    else if (state?.kind === 'join' || state?.kind === 'missed') await this.#join()
    else if (state?.kind === 'placed') await this.#pay(state.order)
    else if (state?.kind === 'signed_out') this.#signIn()
  }

  async #buy(): Promise<void> {
    const { signal } = this.#life
    const [sale, item] = [this.getAttribute('sale') ?? '', this.getAttribute('item') ?? '']
    this.#refused = ''
    this.#doing = { kind: 'sending', tries: 0, elsewhere: false }
    this.#draw()
    try {
      const order = await this.#client.buy(sale, item, { quantity: this.#quantity, signal, ticket: this.#ticket })
      this.#doing = NOTHING
      this.#note(order)
    } catch (error) {
      if (signal.aborted) return
      const code = error instanceof StampedeFailure ? error.code : 'other'
      this.#refused = code
      this.#doing =
        code === 'attempts_used'
          ? { kind: 'attempts_used' }
          : { kind: 'cooling', untilMs: this.#nowMs() + COOL_MS, why: code }
    }
    this.#ticket = undefined
    this.#draw()
  }

  async #join(): Promise<void> {
    const { signal } = this.#life
    this.#refused = ''
    this.#doing = { kind: 'sending', tries: 0, elsewhere: false }
    this.#draw()
    try {
      await this.#line?.join(signal)
    } catch (error) {
      if (signal.aborted) return
      this.#refused = error instanceof StampedeFailure ? error.code : 'other'
    }
    this.#doing = NOTHING
    this.#draw()
  }

  async #pay(order: Order): Promise<void> {
    try {
      const returnUrl = this.getAttribute('return-url') ?? location.href
      const payment = await this.#client.pay(order.id, { returnUrl })
      if (!this.dispatchEvent(eventOf('stampede-pay', { payment }))) return
      if (payment.qr === undefined) return location.assign(payment.payUrl)
      this.#qr = payment.qr
    } catch (error) {
      this.#refused = error instanceof StampedeFailure ? error.code : 'other'
      if (this.#refused === 'contact_missing' && error instanceof StampedeFailure)
        this.dispatchEvent(eventOf('stampede-contact', { order, missing: error.more.missing }))
    }
    this.#draw()
  }

  #signIn(): void {
    if (!this.dispatchEvent(eventOf('stampede-sign-in', {}))) return
    const { signInUrl } = this.#session ?? {}
    if (signInUrl !== undefined) location.assign(signInUrl.replace('{return}', encodeURIComponent(location.href)))
  }

  #choose(quantity: number): void {
    const { quantityMax = 1 } = this.#item() ?? {}
    this.#quantity = Math.min(quantityMax, Math.max(1, quantity))
    this.#draw()
  }

  #note(order: Order): void {
    if (order.item !== this.getAttribute('item')) return
    // News may come late: an order never goes back.
    if (this.#order?.id === order.id && rankOf(order) < rankOf(this.#order)) return
    this.#order = order
    if (order.state !== 'pending') this.#qr = ''
    this.dispatchEvent(eventOf('stampede-order', { order }))
    this.#draw()
  }

  #item() {
    return this.#sale?.items.find(item => item.id === this.getAttribute('item'))
  }

  #state(): ButtonState | undefined {
    const [sale, item] = [this.#sale, this.#item()]
    if (sale === undefined || item === undefined) return undefined
    return buttonState({
      sale,
      item,
      order: this.#order,
      doing: this.#doing,
      nowMs: this.#nowMs(),
      online: navigator.onLine,
      reachable: this.#reachable,
      confirmed: this.#reachable,
      signedOut: this.#session !== undefined && this.#session.buyer === null,
      inLine: this.#inLine(sale),
    })
  }

  #inLine({ line }: Sale) {
    if (line === undefined) return undefined
    const kind = lineStep(line.opensAt, this.#line?.own, this.#nowMs())
    return kind === 'let_in' ? undefined : { kind }
  }

  #draw(): void {
    const state = this.#state()
    const kind = state?.kind ?? 'loading'
    const words = wordsFor(this.lang || document.documentElement.lang || navigator.language)
    const clock = this.#find('.clock')
    const claimBy = kind === 'live' ? this.#line?.claimBy() : undefined
    const untilMs = state && (claimBy ?? untilOf(state, this.#sale))
    clock.hidden = untilMs === undefined
    const time = untilMs === undefined ? '' : leftOf(untilMs - this.#nowMs())
    clock.textContent =
      kind === 'placed' ? words.leftToPay(time) : claimBy !== undefined ? words.leftToClaim(time) : time
    const item = this.#item()
    const choosing = kind === 'live' || kind === 'before' || kind === 'opening'
    const quantity = this.#find('.quantity')
    quantity.hidden = !choosing || (item?.quantityMax ?? 1) < 2
    quantity.setAttribute('aria-label', words.quantity)
    quantity.querySelector('output')!.textContent = String(this.#quantity)
    const [fewer, more] = quantity.querySelectorAll('button')
    fewer!.setAttribute('aria-label', words.fewer)
    more!.setAttribute('aria-label', words.more)
    const main = this.#find('.main')
    main.textContent = words.label[kind]
    main.setAttribute('aria-disabled', String(!PRESSABLE.has(kind)))
    const refused = this.#refused === '' ? undefined : (words.refused[this.#refused] ?? words.refused.other)
    const left = kind === 'live' && item !== undefined ? words.left(String(item.left)) : undefined
    const code = this.#qr === '' ? undefined : `${words.scan} ${this.#qr}`
    const note = this.#find('.note')
    const text = code ?? refused ?? (kind === 'in_line' ? this.#placeText(words) : words.note[kind]) ?? left ?? ''
    if (note.textContent !== text) note.textContent = text
    if (this.#shown !== kind) this.#say(kind)
  }

  #placeText(words: Words): string | undefined {
    return this.#line?.text(words)
  }

  #say(kind: string): void {
    this.#shown = kind
    this.dataset.state = kind
    this.dispatchEvent(eventOf('stampede-state', { kind }))
  }

  #find(selector: string): HTMLElement {
    return this.#root.querySelector<HTMLElement>(selector)!
  }
}

function eventOf(name: string, detail: unknown): CustomEvent {
  return new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true })
}

const rankOf = ({ state }: Order) => ({ reserved: 0, pending: 1, paid: 2, closed: 3 })[state]

/** What the clock counts down to. */
function untilOf(state: ButtonState, sale: Sale | undefined): number | undefined {
  if (state.kind === 'line_before') return Date.parse(sale?.line?.opensAt ?? '')
  if (state.kind === 'before' || state.kind === 'opening') return state.opensAtMs
  return state.kind === 'placed' && state.order.payBy !== undefined ? Date.parse(state.order.payBy) : undefined
}

/** `2:14:59`, or `14:59`. */
function leftOf(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1_000))
  const [hours, minutes, seconds] = [Math.floor(total / 3_600), Math.floor(total / 60) % 60, total % 60]
  const tail = `${String(minutes).padStart(2, '0')}:${String(seconds).padStart(2, '0')}`
  return hours > 0 ? `${hours}:${tail}` : tail
}

/** Ends early, without an error, when the element is gone. */
function wait(ms: number, life: AbortSignal): Promise<void> {
  return sleep(ms, life).catch(() => {})
}

if (!customElements.get('stampede-button')) customElements.define('stampede-button', StampedeButton)
