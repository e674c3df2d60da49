/**
 * The followed sales, kept up to date by one small read. The first read lists them all (`followed_sales`); each later one asks what has
 * changed since the snapshot of the last (`changed_sales`), and costs the same however many items are on sale.
 *
 * E2: after a read the list is what the ledger's primary had at a moment after the read was sent: every change that was committed before is
 * in it. What changes nothing keeps its identity: the same list, the same sale, the same item, so that a reader sees at once that nothing is
 * to be done.
 *
 * A snapshot says something only about the server it was taken on. All sales are read anew when another server or another database answers
 * (failover, restore), when its snapshot is older than the last, and on a connection that has not answered before: a server that crashes ends
 * all its connections, and may give out again the ids of transactions that had not been written. So they are when the ledger's clock has gone
 * back: what was taken off the list because it was over may not be over. Decided in `docs/decisions/0018-one-read-for-all-items.md`.
 *
 * Several reads may be under way. One that comes late, with an older snapshot than the list, changes nothing: the list is newer than it. One
 * that was sent before all were read anew is not gone on from.
 */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Sales } from '../sales.ts'
import type { Database, Row } from './connection/database.ts'
import { text, time, toSales } from './rows.ts'
import { isOlder, type Snapshot, toSnapshot } from './snapshot.ts'

/** What a read was answered by. */
interface Answered {
  readonly nowMs: number
  readonly nowUs: string
  /** Server, database and table. */
  readonly ledger: string
  /** Connection of the server. */
  readonly session: string
  readonly seen: Snapshot
}

/** Sales are followed for so long after their end (`followed_sales.sql`). */
const ENDED_MS = 3_600_000
/** So often it is looked for sales that ended long ago and have a release or a stock change open. */
const LATE_EVERY_MS = 2_000
/** Connections come and go: so many are remembered. */
const SESSIONS_MAX = 1_000
/** Of reading all, when other reads come in between. */
const TRIES_MAX = 3

export class FollowedSales {
  readonly #run: Database['run']
  readonly #sessions = new Set<string>()
  readonly #sales = new Map<SaleId, Sale>()
  #late: ReadonlySet<SaleId> = new Set()
  /** Undefined: nothing was read yet, or what was read can't be gone on from. */
  #last: Answered | undefined
  #list: readonly Sale[] = []
  #lookedForLateMs = Number.NEGATIVE_INFINITY
  #nextEndMs = Number.POSITIVE_INFINITY
  /** How often all sales were read. An answer to a question from before the last time is not gone on from. */
  #beginning = 0

  constructor(run: Database['run']) {
    this.#run = run
  }

  async read(): ReturnType<Sales['followed']> {
    const since = this.#last
    const changes = since === undefined ? undefined : await this.#readChanges(since)
    const { nowMs } = changes?.fits === true ? changes.answered : await this.#readAll(changes?.answered)
    return { nowMs, sales: this.#list, anew: this.#beginning }
  }

  async #readChanges(since: Answered): Promise<{ readonly answered: Answered; readonly fits: boolean }> {
    const beginning = this.#beginning
    const looksForLate = since.nowMs - this.#lookedForLateMs >= LATE_EVERY_MS
    const rows = await this.#run('changed_sales', [since.seen.text, since.nowUs, looksForLate])
    const answered = toAnswered(rows)
    if (rows.some(row => row.ahead === true)) await this.#run('mend_changed', [])
    const { ledger, session, seen, nowMs } = answered
    const isSame = ledger === since.ledger && this.#sessions.has(session)
    const goesOn = isSame && !isOlder(seen, since.seen) && nowMs >= since.nowMs
    if (!goesOn || beginning !== this.#beginning) return { answered, fits: false }
    // Another read was answered meanwhile, and saw more.
    if (isOlder(seen, this.#last!.seen)) return { answered, fits: true }
    const fits = this.#apply(rows, answered, looksForLate)
    if (fits) this.#last = answered
    return { answered, fits }
  }

  /** @param before the answer that could not be gone on from: its connection was there before this read is sent */
  async #readAll(before: Answered | undefined): Promise<Answered> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { last, beginning } = { last: this.#last, beginning: this.#beginning }
      const rows = await this.#run('followed_sales', [])
      const answered = toAnswered(rows)
      // Overtaken. Which of the two is the newer one can't be told when the server has crashed in between: it is asked again.
      const isOvertaken = this.#last !== undefined && this.#last !== last && isOlder(answered.seen, this.#last.seen)
      if (beginning !== this.#beginning || isOvertaken) continue
      if (answered.ledger !== last?.ledger || this.#sessions.size >= SESSIONS_MAX) this.#sessions.clear()
      this.#sessions.add(answered.session)
      if (before?.ledger === answered.ledger) this.#sessions.add(before.session)
      this.#begin(rows, answered)
      return answered
    }
    throw new Fault('ledger_reads_crossed', 'other reads of the sales came in between again and again', {
      retryable: true,
    })
  }

  #begin(rows: readonly Row[], answered: Answered): void {
    const found = toSales(rows.filter(row => row.sale_id !== null)).map(sale =>
      keepSame(this.#sales.get(sale.id), sale),
    )
    this.#sales.clear()
    for (const sale of found) this.#sales.set(sale.id, sale)
    this.#late = lateOf(rows)
    this.#lookedForLateMs = answered.nowMs
    this.#relist()
    this.#last = answered
    this.#beginning += 1
  }

  /** False: something is missing that should have been read before. */
  #apply(rows: readonly Row[], { nowMs }: Answered, lookedForLate: boolean): boolean {
    if (lookedForLate) {
      this.#late = lateOf(rows)
      this.#lookedForLateMs = nowMs
    }
    let changed = false
    for (const [id, ofSale] of Map.groupBy(
      rows.filter(row => row.sale_id !== null),
      row => text(row, 'sale_id'),
    )) {
      const [row] = ofSale
      const [sale] = toSales(ofSale)
      assert(row !== undefined && sale !== undefined, 'a sale without a row')
      const old = this.#sales.get(id)
      if (row.followed !== true && !this.#late.has(id)) {
        // It may be late: that is looked for by the next read.
        if (row.state !== 'draft' && !lookedForLate) this.#lookedForLateMs = Number.NEGATIVE_INFINITY
        changed = this.#sales.delete(id) || changed
        continue
      }
      if (old === undefined && row.whole !== true) return false
      const next = row.whole === true || old === undefined ? keepSame(old, sale) : merged(old, sale)
      if (next === old) continue
      this.#sales.set(id, next)
      changed = true
    }
    if (lookedForLate && nowMs >= this.#nextEndMs)
      for (const { id, closesAtMs } of [...this.#sales.values()])
        if (closesAtMs + ENDED_MS <= nowMs && !this.#late.has(id)) changed = this.#sales.delete(id) || changed
    if (changed) this.#relist()
    return true
  }

  /** By opening, then by id, as the ledger lists them. */
  #relist(): void {
    const byId = (a: Sale, b: Sale) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1)
    this.#list = [...this.#sales.values()].sort((a, b) => a.opensAtMs - b.opensAtMs || byId(a, b))
    this.#nextEndMs = this.#list.reduce(
      (least, sale) => Math.min(least, sale.closesAtMs + ENDED_MS),
      Number.POSITIVE_INFINITY,
    )
  }
}

function toAnswered(rows: readonly Row[]): Answered {
  const [row] = rows
  assert(row !== undefined, 'the ledger has no clock')
  // E2: a standby may show old rows.
  if (row.standby === true)
    throw new Fault('ledger_standby', 'the ledger reached is a standby, not the primary', { retryable: true })
  return {
    nowMs: time(row, 'now'),
    nowUs: text(row, 'now_us'),
    ledger: text(row, 'ledger'),
    session: text(row, 'session'),
    seen: toSnapshot(text(row, 'seen')),
  }
}

function lateOf(rows: readonly Row[]): ReadonlySet<SaleId> {
  return new Set(rows.filter(row => row.late === true).map(row => text(row, 'sale_id')))
}

/** The old one if they are equal. */
function keepSame(old: Sale | undefined, sale: Sale): Sale {
  return old !== undefined && JSON.stringify(old) === JSON.stringify(sale) ? old : sale
}

/** The sale as it is read now, with those of its items that have changed. */
function merged(old: Sale, now: Sale): Sale {
  const changed = new Map(now.items.map(item => [item.id, item]))
  return { ...now, items: old.items.map(item => changed.get(item.id) ?? item) }
}
