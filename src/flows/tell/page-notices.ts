/**
 * The changed files that each notice has not taken yet. A change is given until it was taken, so at least once; of several changes of a path
 * only the last is given. A notice that fails waits, each time longer, and does not delay the others. Bounded by the number of paths.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { PageChange, PageNotice } from '../../pages/page-store.ts'

/** Pages that are older than they should be, for operators. */
export interface PageTrouble {
  /** The store, or the name of a notice. */
  readonly which: string
  readonly sinceMs: number
  readonly words: string
}

interface NoticesContext {
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
}

const WAIT_FIRST_MS = 1_000
const WAIT_MAX_MS = 60_000
/** Calls to a notice in a round. */
const CALLS_MAX = 4

const TEXTS = {
  event: 'page_notices_failed',
  begins: 'a notice of changed pages failed; it is sent again',
  lasts: 'notices of changed pages still fail',
  ends: 'notices of changed pages are sent again',
} as const

class NoticeQueue {
  readonly #context: NoticesContext
  readonly #notice: PageNotice
  readonly #outage: OutageLog
  readonly #waiting = new Map<string, PageChange>()
  #failed = 0
  #againMs = Number.NEGATIVE_INFINITY
  trouble: PageTrouble | undefined

  constructor(context: NoticesContext, notice: PageNotice) {
    this.#context = context
    this.#notice = notice
    this.#outage = new OutageLog(context, { notice: notice.name }, TEXTS)
  }

  add(change: PageChange): void {
    // The last change is the last to be given.
    this.#waiting.delete(change.path)
    this.#waiting.set(change.path, change)
  }

  async round(): Promise<void> {
    const { clock, meters } = this.#context
    for (let i = 0; i < CALLS_MAX && this.#waiting.size > 0 && clock.elapsed() >= this.#againMs; i++) {
      const changes = [...this.#waiting.values()].slice(0, this.#notice.changesMax)
      try {
        await this.#notice.send(changes)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        this.#fail(error)
        return
      }
      for (const change of changes) if (this.#waiting.get(change.path) === change) this.#waiting.delete(change.path)
      meters.count('page_notices', 'sent')
      this.#outage.worked()
      this.#failed = 0
      this.trouble = undefined
    }
  }

  #fail(fault: Fault): void {
    const { clock, meters } = this.#context
    meters.count('page_notices', 'failed')
    this.#outage.failed(fault)
    this.#againMs = clock.elapsed() + Math.min(WAIT_MAX_MS, WAIT_FIRST_MS * 2 ** Math.min(this.#failed, 10))
    this.#failed += 1
    this.trouble = { which: this.#notice.name, sinceMs: this.trouble?.sinceMs ?? clock.now(), words: fault.message }
  }
}

export class PageNotices {
  readonly #queues: readonly NoticeQueue[]

  constructor(context: NoticesContext, notices: readonly PageNotice[]) {
    this.#queues = notices.map(notice => new NoticeQueue(context, notice))
  }

  add(change: PageChange): void {
    for (const queue of this.#queues) queue.add(change)
  }

  async round(): Promise<void> {
    await Promise.all(this.#queues.map(queue => queue.round()))
  }

  troubles(): readonly PageTrouble[] {
    return this.#queues.flatMap(({ trouble }) => trouble ?? [])
  }
}
