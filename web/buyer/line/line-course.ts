/**
 * The buyer's place in the line of one sale: read from the server, so that a refresh, a closed tab and another device find the same; moved by the live connection, or by
 * asking as often as the answers say. Joins and leaves. An answer that is missing is asked for again.
 */

import type { Reply } from '../api.ts'
import type { Join, LineMessage, Sale } from '../shapes.ts'
import { backOffMs } from '../sync/moments.ts'
import type { Page } from '../views/later-part.tsx'
import { keepReceipt } from './receipt.ts'

/** While the live connection works, asking only renews the estimate. */
const LIVE_EVERY_MS = 15_000
/** For a buyer who is not in line: it may have been joined on another device. */
const OUTSIDE_EVERY_MS = 30_000
/** Those who were let in together do not all ask in the same moment. */
const SOON_MS = 400

export class LineCourse {
  own: Join | 'none' | undefined
  joining = false
  /** Of the last try to join. */
  refused = ''
  /** Units that came back since it was sold out. */
  returned = 0
  /** When the estimate was read (monotonic). */
  readAtMs = 0
  readonly #page: Page
  readonly #sale: string
  readonly #changed: () => void
  #buyer: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #asking = false
  #tries = 0
  #stopped = false

  constructor(page: Page, sale: string, changed: () => void) {
    this.#page = page
    this.#sale = sale
    this.#changed = changed
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  /** The page's state has changed: another buyer, or an order that is not live any more. */
  follow(sale: Sale, isOpen: boolean): void {
    const { session } = this.#page.store
    const buyer = session.kind === 'in' ? session.buyer : undefined
    if (buyer !== this.#buyer) {
      this.#buyer = buyer
      this.own = undefined
      this.refused = ''
      if (buyer !== undefined && isOpen) this.#askIn(0)
    }
    if (!isOpen) this.own = 'none'
    else if (this.own === undefined && buyer !== undefined && this.#timer === undefined) this.#askIn(0)
    const has = sale.items.some(item => (this.#page.store.orderOf(item.id)?.state ?? 'closed') !== 'closed')
    if (typeof this.own === 'object' && this.own.state === 'done' && !has && this.#page.store.ordersLoaded)
      this.#askWithin(2_000)
  }

  hear({ state, place, ahead, left }: LineMessage): void {
    if (state === 'left') this.own = 'none'
    else if (typeof this.own !== 'object') this.#askIn(0)
    else {
      this.#countReturned(this.own.left, left)
      const claimBy = state === 'admitted' ? { claimBy: this.own.claimBy } : { claimBy: undefined }
      this.own = { ...this.own, state, place, ahead, left, ...claimBy }
      if (state === 'admitted' && this.own.claimBy === undefined) this.#askIn(Math.random() * SOON_MS)
    }
    this.#changed()
  }

  async join(): Promise<void> {
    if (this.joining) return
    this.joining = true
    this.refused = ''
    this.#changed()
    for (let tries = 0; ; tries++) {
      const reply = await this.#send()
      if (this.#stopped) return
      if (reply.kind === 'ok') {
        this.#put(reply.body)
        break
      }
      if (reply.kind === 'refused' && reply.status < 500 && reply.code !== 'rate_limited') {
        this.refused = reply.code
        if (reply.code === 'sale_over') this.#page.pollNow()
        break
      }
      const leastMs = reply.kind === 'refused' ? (reply.retryAfterMs ?? 0) : 0
      await new Promise(resolve => setTimeout(resolve, Math.max(leastMs, backOffMs(tries, Math.random()))))
    }
    this.joining = false
    this.#changed()
  }

  async leave(): Promise<void> {
    const reply = await this.#page.call('DELETE', `/api/sales/${this.#sale}/line`)
    this.#page.noteReply(reply)
    if (reply.kind === 'ok') this.own = 'none'
    this.#changed()
  }

  /** Joins; solves the check before it, if the sale has one. */
  async #send(): Promise<Reply<Join>> {
    const { call, noteReply, solveChallenge } = this.#page
    const path = `/api/sales/${this.#sale}/line`
    let reply = await call<Join>('POST', path, { body: {} })
    if (reply.kind === 'refused' && reply.code === 'challenge_required') {
      const challenge = await solveChallenge(reply.body)
      if (challenge !== undefined) reply = await call<Join>('POST', path, { body: { challenge } })
    }
    noteReply(reply)
    return reply
  }

  async #ask(): Promise<void> {
    this.#timer = undefined
    if (this.#asking || this.#stopped || this.#buyer === undefined) return
    this.#asking = true
    const buyer = this.#buyer
    const reply = await this.#page.call<Join>('GET', `/api/sales/${this.#sale}/line`)
    this.#asking = false
    if (this.#stopped || buyer !== this.#buyer) return
    this.#page.noteReply(reply)
    if (reply.kind === 'ok') this.#put(reply.body)
    else if (reply.kind === 'refused' && reply.code === 'not_in_line') {
      this.own = 'none'
      this.#askIn(OUTSIDE_EVERY_MS)
      this.#changed()
    } else this.#askIn(backOffMs(this.#tries++ + 1, Math.random()))
  }

  #put(join: Join): void {
    this.#countReturned(typeof this.own === 'object' ? this.own.left : null, join.left)
    if (join.state !== 'waiting') this.returned = 0
    this.own = join
    this.readAtMs = performance.now()
    this.#tries = 0
    if (this.#buyer !== undefined) keepReceipt(this.#sale, this.#buyer, join)
    const pollMs = join.pollAfterSeconds * 1_000
    const rests = join.state === 'done' || this.#page.liveConnected()
    this.#askIn((rests ? Math.max(LIVE_EVERY_MS, pollMs) : pollMs) * (1 + Math.random() / 4))
    this.#changed()
  }

  /** Units come back one after the other: the most that were left since it was sold out. */
  #countReturned(before: number | null, left: number | null): void {
    if (left === 0) this.returned = 0
    else if (left !== null && (before === 0 || this.returned > 0)) this.returned = Math.max(this.returned, left)
  }

  #askIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#ask(), ms)
    this.#dueAtMs = performance.now() + ms
  }

  #dueAtMs = 0

  #askWithin(ms: number): void {
    if (this.#dueAtMs - performance.now() > ms) this.#askIn(ms)
  }
}
