/** The record of a draw, for anyone; and an operator's beacon. */

import { toRfc3339 } from '../../base/clock.ts'
import { enterBeacon } from '../../flows/line/enter-beacon.ts'
import { drawCalls } from '../../wire/draw/draw-calls.ts'
import { wireOperatorSale } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { hasTag, idParam, json, readBody } from '../http/exchange.ts'
import { answerBy, noSuch, ProblemError, plainProblem, problem } from '../http/problem-response.ts'
import { UNRENDERED } from '../http/security-headers.ts'
import { hasLine } from './line-admission.ts'

const handlers = {
  async drawRecord({ catalog, drawFiles }, exchange) {
    const sale = await catalog.find(idParam(exchange, 'sale'))
    if (sale?.line?.order !== 'draw') throw noSuch('sale with a waiting line')
    const file = await drawFiles.of(sale.id)
    if (file === undefined) throw new ProblemError('not_drawn')
    const headers = { etag: file.etag, 'cache-control': 'no-cache' }
    if (hasTag(exchange.request, file.etag)) return new Response(null, { status: 304, headers })
    const body = await drawFiles.open(file)
    if (body === undefined) return plainProblem('busy')
    const name = `attachment; filename="draw-${sale.id}.json"`
    return new Response(body, {
      headers: { 'content-type': 'application/json', 'content-disposition': name, ...headers, ...UNRENDERED },
    })
  },

  async enterBeacon({ draws, operate, line, stock }, exchange, by) {
    const sale = await operate.sales.find(idParam(exchange, 'sale'))
    if (sale === undefined || !hasLine(sale) || sale.state === 'draft') throw noSuch('sale with a waiting line')
    const { value } = await readBody(exchange.request, drawCalls.enterBeacon.body.schema)
    return answerBy(await enterBeacon(draws, sale.id, value, by), {
      async done() {
        await line.followedLines.round()
        return json(wireOperatorSale(sale, stock))
      },
      missing: () => problem('beacon_not_taken', { detail: 'The line is not open yet, or is not drawn.' }),
      not_sealed({ sealsAtMs }) {
        const sealsAt = toRfc3339(sealsAtMs)
        return problem('not_sealed', { detail: `The joins are sealed at ${sealsAt}.`, more: { sealsAt } })
      },
      not_taken: ({ why }) => problem('beacon_not_taken', { detail: why }),
    })
  },
} satisfies Handlers<typeof drawCalls>

export const drawRoutes = (edge: EdgeContext) => routesOf(edge, drawCalls, handlers)
