/**
 * The crowd in a waiting line: each buyer joins, asks where it stands as often as the answers say, takes a ticket when it is let in, and hands it over for the order.
 *
 *     outside → joining → waiting ⇄ told that it is sold out → let in → a ticket; after a missed turn: joining again
 *
 * Checks what a line promises: no number twice, none changed by joining again while it counts, and no buyer let in before one who stands ahead. Sends and waits through
 * the context, as `buyers.ts` does.
 */

import type { JoinAnswer } from '../../wire/line/line-shapes.ts'
import { codeOf, describeAnswer, readJson } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import { Histogram } from '../client/histogram.ts'
import { between, type Range } from '../plan/plan.ts'
import type { CrowdContext } from './context.ts'

interface LineParts
  extends Pick<CrowdContext, 'random' | 'limits' | 'requests' | 'tokens' | 'tally' | 'nowMs' | 'send' | 'later'> {
  /** The buyer may order with this ticket. */
  readonly letIn: (buyer: number, ticket: string) => void
  /** No unit is left: the buyer is told so, and asks no more. */
  readonly soldOut: (buyer: number) => void
  /** It can't be found out what became of the buyer. */
  readonly lost: (buyer: number) => void
}

type Asking = 'join' | 'look' | 'ticket'

const LATER_MS: Range = [1_000, 1_400]
const LOST_MS: Range = [150, 600]
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504])

export class LineCrowd {
  readonly #parts: LineParts
  readonly #tries: Uint16Array
  /** The number that counts; 0: none yet. */
  readonly #numbers: Uint32Array
  readonly #given = new Map<number, number>()
  readonly #joinedMs: Float64Array
  /** By number: when it was let in, by the server's clock. */
  readonly #letInAt = new Map<number, number>()
  readonly joinMs = new Histogram()
  /** From the join to the ticket. */
  readonly waitMs = new Histogram()
  #firstJoinMs = Number.POSITIVE_INFINITY
  #lastJoinMs = 0

  constructor(parts: LineParts, buyers: number) {
    this.#parts = parts
    this.#tries = new Uint16Array(buyers)
    this.#numbers = new Uint32Array(buyers)
    this.#joinedMs = new Float64Array(buyers).fill(Number.NaN)
  }

  /** Everyone who has a number, those ahead first: whom returned units are for. */
  inOrder(): readonly number[] {
    return [...this.#numbers.keys()].sort((a, b) => this.#numbers[a]! - this.#numbers[b]!)
  }

  /** Joins, or looks again where the buyer has joined. */
  go(buyer: number): void {
    this.#ask(this.#numbers[buyer] === 0 ? 'join' : 'look', buyer)
  }

  /** A second press: it must give the same number. */
  again(buyer: number): void {
    const { send, requests, tokens, tally } = this.#parts
    const before = this.#numbers[buyer]!
    send(
      requests.joinLine(tokens[buyer]!),
      answer => {
        const join = readJoin(answer)
        if (join === undefined || join.state === 'missed' || before === 0) return
        if (join.number !== before && this.#numbers[buyer] === before) tally.surprise('a second number for one buyer')
      },
      () => {},
    )
  }

  figures() {
    const letInAt = [...this.#letInAt.values()].sort((a, b) => a - b)
    const seconds = letInAt.length < 2 ? 0 : (letInAt.at(-1)! - letInAt[0]!) / 1_000
    const joinSeconds = Math.max(0.001, (this.#lastJoinMs - this.#firstJoinMs) / 1_000)
    return {
      joins: this.#given.size,
      joinsPerSecond: this.#given.size === 0 ? 0 : Math.round(this.#given.size / joinSeconds),
      letIn: letInAt.length,
      /** From the first to the last who was let in; null: all at once. */
      letInPerSecond: seconds === 0 ? null : Math.round((letInAt.length / seconds) * 10) / 10,
    }
  }

  /** Buyers who were let in before one ahead of them. */
  outOfOrder(): number {
    let [latest, count] = [0, 0]
    for (const [, at] of [...this.#letInAt].sort(([a], [b]) => a - b)) {
      if (at < latest) count += 1
      latest = Math.max(latest, at)
    }
    return count
  }

  #ask(what: Asking, buyer: number): void {
    const { send, requests, tokens, nowMs } = this.#parts
    const token = tokens[buyer]!
    const bytes =
      what === 'join' ? requests.joinLine(token) : what === 'look' ? requests.ownJoin(token) : requests.ticket(token)
    const askedMs = nowMs()
    send(
      bytes,
      answer => this.#heard(what, buyer, answer, askedMs),
      () => this.#later(what, buyer, LOST_MS),
    )
  }

  #heard(what: Asking, buyer: number, answer: Answer, askedMs: number): void {
    const { tally, nowMs } = this.#parts
    const join = what === 'ticket' ? undefined : readJoin(answer)
    if (RETRIED.has(answer.status)) {
      tally.count(`line ${codeOf(answer) || 'away'}`)
      tally.add('later', nowMs())
      this.#later(what, buyer, LATER_MS)
    } else if (what === 'ticket') this.#heardTicket(buyer, answer)
    else if (join === undefined) this.#wrong(buyer, `${what} in line: ${describeAnswer(answer)}`)
    else {
      if (what === 'join') this.#joined(buyer, join, askedMs)
      this.#stands(buyer, join)
    }
  }

  #joined(buyer: number, { number }: JoinAnswer, askedMs: number): void {
    const { tally, nowMs } = this.#parts
    if (this.#given.get(number) !== undefined && this.#given.get(number) !== buyer)
      tally.surprise('one number for two buyers')
    this.#given.set(number, buyer)
    this.#numbers[buyer] = number
    if (Number.isNaN(this.#joinedMs[buyer]!)) this.#joinedMs[buyer] = askedMs
    this.joinMs.add(nowMs() - askedMs)
    this.#firstJoinMs = Math.min(this.#firstJoinMs, askedMs)
    this.#lastJoinMs = Math.max(this.#lastJoinMs, nowMs())
    tally.count('line joined')
  }

  #stands(buyer: number, join: JoinAnswer): void {
    const { later, random, soldOut } = this.#parts
    const { state, number, claimBy, left, pollAfterSeconds } = join
    if (state === 'admitted' && claimBy !== undefined) this.#letInAt.set(number, Date.parse(claimBy))
    if (state === 'missed') this.#ask('join', buyer)
    else if (state !== 'waiting') this.#ask('ticket', buyer)
    else if (left === 0) soldOut(buyer)
    else later(pollAfterSeconds * 1_000 * between(random, [0.9, 1.1]), () => this.#ask('look', buyer))
  }

  #heardTicket(buyer: number, answer: Answer): void {
    const { tally, nowMs, letIn } = this.#parts
    const ticket = answer.status < 300 ? readJson(answer)?.ticket : undefined
    if (typeof ticket === 'string') {
      this.#tries[buyer] = 0
      tally.tickets += 1
      this.waitMs.add(nowMs() - this.#joinedMs[buyer]!)
      letIn(buyer, ticket)
    } else if (codeOf(answer) === 'not_admitted')
      // The time to claim was over when it arrived.
      this.#later('look', buyer, LOST_MS)
    else this.#wrong(buyer, `a ticket for who was let in: ${describeAnswer(answer)}`)
  }

  #wrong(buyer: number, what: string): void {
    this.#parts.tally.surprise(what)
    this.#parts.lost(buyer)
  }

  #later(what: Asking, buyer: number, range: Range): void {
    const { limits, later, random, lost } = this.#parts
    this.#tries[buyer]! += 1
    if (this.#tries[buyer]! > limits.clicksMax) lost(buyer)
    else later(between(random, range), () => this.#ask(what, buyer))
  }
}

function readJoin(answer: Answer): JoinAnswer | undefined {
  const body = answer.status < 300 ? readJson(answer) : undefined
  return typeof body?.number === 'number' ? (body as unknown as JoinAnswer) : undefined
}
