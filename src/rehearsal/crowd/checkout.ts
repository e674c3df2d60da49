/**
 * What a buyer does with an order: pays (through the sandbox, never with real money), cancels, or abandons it. Every state that the server
 * shows on the way is recorded for the promises. "Later" is not a refusal: the call is repeated.
 */

import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import { codeOf, describeAnswer, isFromProxy, readJson, readOrder } from '../client/answers.ts'
import type { Answer } from '../client/connection.ts'
import { between } from '../plan/plan.ts'
import type { Answered, CrowdContext } from './context.ts'

const THINKING_MS = [200, 1_500] as const
const POLL_MS = 250
const LATER_MS = 1_000

export class Checkout {
  readonly #context: CrowdContext
  #hasSandbox = false
  paid = 0
  cancelled = 0
  /** False when the server does not offer the sandbox. */
  canPay = true

  constructor(context: CrowdContext) {
    this.#context = context
  }

  /** `secondWave`: the buyer came for a returned unit and does not cancel, so that the rehearsal ends. */
  decide(buyer: number, { id }: ToldOrder, secondWave: boolean): void {
    const { mix, random, later } = this.#context
    const thinkingMs = between(random, THINKING_MS)
    const chance = random.next()
    if (chance < mix.pay) later(thinkingMs, () => this.canPay && this.#pay(buyer, id))
    else if (chance < mix.pay + mix.cancel && !secondWave) later(thinkingMs, () => this.#cancel(buyer, id))
  }

  #pay(buyer: number, id: string): void {
    const { requests, tokens, tally, limits, nowMs } = this.#context
    this.#call('payment', requests.pay(id, tokens[buyer]!), answer => {
      const payUrl = readJson(answer)?.payUrl
      // Once the sandbox has answered, "unknown provider" is a wrong answer like any other.
      if (!this.#hasSandbox && isUnknownProvider(answer)) this.canPay = false
      else if (answer.status !== 201 || typeof payUrl !== 'string') tally.surprise(`payment: ${describeAnswer(answer)}`)
      else {
        this.#hasSandbox = true
        this.#call('approval', requests.approve(payUrl), approved => {
          if (approved.status === 200) this.#pollUntilPaid(buyer, id, nowMs() + limits.paidMsMax)
          else tally.surprise(`approval: ${describeAnswer(approved)}`)
        })
      }
    })
  }

  /** The provider's callback reaches the server after the approval. */
  #pollUntilPaid(buyer: number, id: string, untilMs: number): void {
    const { requests, tokens, tally, limits, nowMs, later, record } = this.#context
    this.#call('read order', requests.readOrder(id, tokens[buyer]!), (answer, sentMs, answeredMs) => {
      const order = answer.status === 200 ? readOrder(answer) : undefined
      if (order === undefined) tally.surprise(`read order: ${describeAnswer(answer)}`)
      else if (order.state === 'paid') {
        this.paid += 1
        record(buyer, order, sentMs, answeredMs)
      } else if (nowMs() < untilMs) later(POLL_MS, () => this.#pollUntilPaid(buyer, id, untilMs))
      else tally.surprise(`approved, but not paid after ${limits.paidMsMax / 1000} s`)
    })
  }

  #cancel(buyer: number, id: string): void {
    const { requests, tokens, tally, record } = this.#context
    this.#call('cancel', requests.cancel(id, tokens[buyer]!), (answer, sentMs, nowMs) => {
      const order = answer.status === 200 ? readOrder(answer) : undefined
      if (order?.state !== 'closed') return tally.surprise(`cancel: ${describeAnswer(answer)}`)
      this.cancelled += 1
      record(buyer, order, sentMs, nowMs)
    })
  }

  /** Repeats the request until there is an answer that is not "later". */
  #call(what: string, bytes: Buffer, answered: Answered, tries = this.#context.limits.callsMax): void {
    const { limits, tally, later, send } = this.#context
    const again = (why: string) => {
      if (tries > 1) later(LATER_MS, () => this.#call(what, bytes, answered, tries - 1))
      else tally.surprise(`${what}: ${why}, ${limits.callsMax} times`)
    }
    send(
      bytes,
      (answer, sentMs, nowMs) => {
        if (isLater(answer) || (limits.proxyMayLose && isFromProxy(answer))) again(describeAnswer(answer))
        else answered(answer, sentMs, nowMs)
      },
      () => again('no answer'),
    )
  }
}

/** An order that is reserved and not placed yet can be neither paid nor cancelled; it will be placed soon. */
function isLater(answer: Answer): boolean {
  return answer.status === 503 || answer.status === 429 || (answer.status === 409 && codeOf(answer) === 'not_placed')
}

/** The server refuses the one field that names the sandbox. */
function isUnknownProvider(answer: Answer): boolean {
  return answer.status === 400 && codeOf(answer) === 'body_invalid' && readJson(answer)?.field === 'provider'
}
