/**
 * What becomes of an order: its buyer pays (with the sandbox, never with real money), cancels, or walks away. Whatever the server says
 * on the way is told to the promises. Being told to come later is no refusal: they come later.
 */

import type { Random } from '../../base/random.ts'
import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import { codeOf, describeAnswer, isFromProxy, readJson, readOrder } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import type { Requests } from '../client/requests.ts'
import type { Patience } from '../patience.ts'
import type { Mix } from '../plan/mix.ts'
import type { Tally } from './tally.ts'

interface FatesParts {
  readonly mix: Mix
  readonly patience: Patience
  readonly random: Random
  readonly tally: Tally
  readonly requests: Requests
  readonly send: (bytes: Buffer, answered: Answered, lost: () => void) => void
  readonly later: (afterMs: number, act: () => void) => void
  readonly nowMs: () => number
  readonly tell: (buyer: number, order: ToldOrder, sentMs: number, nowMs: number) => void
  readonly tokenOf: (buyer: number) => string
}
type Answered = (answer: Answer, sentMs: number, nowMs: number) => void

export interface Fates {
  decide(buyer: number, order: ToldOrder, secondWave: boolean): void
  readonly paid: number
  readonly cancelled: number
  readonly walkedAway: number
  /** False when the server does not offer the sandbox. */
  readonly canPay: boolean
}

const THINKING_MS = [200, 1_500] as const
const LOOK_MS = 250
const LATER_MS = 1_000

export function createFates(parts: FatesParts): Fates {
  const { mix, patience, random, tally, requests, tokenOf } = parts
  let [paid, cancelled, walkedAway] = [0, 0, 0]
  let canPay = true
  let hasSandbox = false

  /** Sends until there is an answer that is not "later". */
  function ask(what: string, bytes: Buffer, answered: Answered, tries = patience.callsMax): void {
    const again = (why: string) => {
      if (tries > 1) parts.later(LATER_MS, () => ask(what, bytes, answered, tries - 1))
      else tally.surprise(`${what}: ${why}, ${patience.callsMax} times`)
    }
    parts.send(
      bytes,
      (answer, sentMs, nowMs) => {
        if (isLater(answer) || (patience.proxyMayLose && isFromProxy(answer))) again(describeAnswer(answer))
        else answered(answer, sentMs, nowMs)
      },
      () => again('no answer'),
    )
  }

  function pay(buyer: number, id: string): void {
    ask('payment', requests.pay(id, tokenOf(buyer)), answer => {
      const payUrl = readJson(answer)?.payUrl
      // What was there once is no longer unknown: then it is a wrong answer like any other.
      if (!hasSandbox && isUnknownProvider(answer)) canPay = false
      else if (answer.status !== 201 || typeof payUrl !== 'string') tally.surprise(`payment: ${describeAnswer(answer)}`)
      else {
        hasSandbox = true
        ask('approval', requests.approve(payUrl), approved => {
          if (approved.status === 200) lookUntilPaid(buyer, id, parts.nowMs() + patience.paidMsMax)
          else tally.surprise(`approval: ${describeAnswer(approved)}`)
        })
      }
    })
  }

  /** The provider tells the server, the server tells the buyer. */
  function lookUntilPaid(buyer: number, id: string, untilMs: number): void {
    ask('look', requests.look(id, tokenOf(buyer)), (answer, sentMs, nowMs) => {
      const order = answer.status === 200 ? readOrder(answer) : undefined
      if (order === undefined) tally.surprise(`look: ${describeAnswer(answer)}`)
      else if (order.state === 'paid') {
        paid += 1
        parts.tell(buyer, order, sentMs, nowMs)
      } else if (parts.nowMs() < untilMs) parts.later(LOOK_MS, () => lookUntilPaid(buyer, id, untilMs))
      else tally.surprise(`approved, but not paid after ${patience.paidMsMax / 1000} s`)
    })
  }

  function cancel(buyer: number, id: string): void {
    ask('cancel', requests.cancel(id, tokenOf(buyer)), (answer, sentMs, nowMs) => {
      const order = answer.status === 200 ? readOrder(answer) : undefined
      if (order?.state !== 'closed') return tally.surprise(`cancel: ${describeAnswer(answer)}`)
      cancelled += 1
      parts.tell(buyer, order, sentMs, nowMs)
    })
  }

  return {
    decide(buyer, { id }, secondWave) {
      const thinkingMs = THINKING_MS[0] + random.next() * (THINKING_MS[1] - THINKING_MS[0])
      const chance = random.next()
      if (chance < mix.pay) parts.later(thinkingMs, () => (canPay ? pay(buyer, id) : undefined))
      // Whoever came for a returned unit keeps it: the rehearsal must come to an end.
      else if (chance < mix.pay + mix.cancel && !secondWave) parts.later(thinkingMs, () => cancel(buyer, id))
      else walkedAway += 1
    },
    get paid() {
      return paid
    },
    get cancelled() {
      return cancelled
    },
    get walkedAway() {
      return walkedAway
    },
    get canPay() {
      return canPay
    },
  }
}

/** An order that is not written down yet can neither be paid nor cancelled: that too is only a matter of waiting. */
function isLater(answer: Answer): boolean {
  return answer.status === 503 || answer.status === 429 || (answer.status === 409 && codeOf(answer) === 'not_placed')
}

/** The one field of the request that names the sandbox is what the server does not take. */
function isUnknownProvider(answer: Answer): boolean {
  return answer.status === 400 && codeOf(answer) === 'body_invalid' && readJson(answer)?.field === 'provider'
}
