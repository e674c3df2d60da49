/** Operators and dead letters: what could not be placed, and one more try. */

import { toRfc3339 } from '../../base/clock.ts'
import {
  findDeadLetter,
  listDeadLetters,
  retryDeadLetter,
  type ShownDeadLetter,
} from '../../flows/operate/dead-letters.ts'
import { deadCalls } from '../../wire/dead/dead-calls.ts'
import type { DeadLetterAnswer, WholeDeadLetterAnswer } from '../../wire/dead/dead-shapes.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { type Exchange, idParam, json, readPage, readQuery } from '../http/exchange.ts'
import { answerBy, noSuch, ProblemError } from '../http/problem-response.ts'

const missing = () => noSuch('dead letter')
const refused = (why: string) => new ProblemError('not_retryable', why)

const handlers = {
  async deadLetters({ letters }, exchange) {
    const { after, limit } = readQuery(exchange, deadCalls.deadLetters.query)
    const upTo = after === undefined || after === '' ? undefined : String(BigInt(after) - 1n)
    const { shown, next } = await readPage(limit, max => listDeadLetters(letters, upTo, max))
    return json({ letters: shown.map(wireLetter), next })
  },

  async deadLetter(edge, exchange) {
    const letter = await find(edge, exchange)
    return json({ ...wireLetter(letter), raw: letter.raw } satisfies WholeDeadLetterAnswer)
  },

  async retryDeadLetter(edge, exchange, by) {
    return answerBy(await retryDeadLetter(edge.letters, idParam(exchange, 'letter'), by), {
      placed: async () => json(wireLetter(await find(edge, exchange))),
      born: ({ orders }) =>
        refused(`${orders.map(({ id, state }) => `Order ${id} was born ${state} of it`).join('; ')}: nothing is done.`),
      unreadable: () => refused('No reservation can be read from it: nothing is done.'),
      refused_again: ({ why }) => refused(`The ledger still does not take it: ${why}.`),
      unknown: missing,
    })
  },
} satisfies Handlers<typeof deadCalls>

export const deadRoutes = (edge: EdgeContext) => routesOf(edge, deadCalls, handlers)

async function find({ letters }: EdgeContext, exchange: Exchange): Promise<ShownDeadLetter> {
  const found = await findDeadLetter(letters, idParam(exchange, 'letter'))
  if (found === undefined) throw missing()
  return found
}

function wireLetter({ atMs, born, raw: _, order, ...letter }: ShownDeadLetter): DeadLetterAnswer {
  return {
    ...letter,
    ...(order !== undefined && { order }),
    at: toRfc3339(atMs),
    born: born.map(({ id, state }) => ({ id, state })),
  }
}
