/** Traces of a process that sells alone: what is traced, what names the trace, and a receiver that hangs. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { Playground } from './harness/playground.ts'
import { Shop, type Ticket } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { TraceReceiver } from './harness/trace-receiver.ts'
import { until } from './harness/until.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

const OUTER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' }
const GIVEN = `00-${OUTER.trace}-${OUTER.span}-01`

async function open(env: Readonly<Record<string, string>>, units = 5) {
  const receiver = await TraceReceiver.open(playground)
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, LOG_LEVEL: 'info', ...env }
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: traced })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units }])
  const ticket = (buyer: string) => shop.ticket(buyer, sale.id, sale.items[0]!.id)
  async function order({ text, item }: Ticket, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${server.url()}/api/sales/${sale.id}/items/${item}/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${text}`, ...headers },
    })
    const body = (await response.json()) as { id: string; traceId?: string }
    return { status: response.status, trace: response.headers.get('traceresponse')?.split('-')[1], body }
  }
  return { receiver, server, ticket, order }
}

test('the shop’s trace goes on through queue, gate and ledger; answer, problem, log and the order’s story name it', async () => {
  const { receiver, server, ticket, order } = await open({ TRACE_SAMPLE: '0', TRUSTED_PROXIES: '127.0.0.1' }, 1)
  const late = await ticket('late')
  const taken = await order(await ticket('ada'), { traceparent: GIVEN })
  expect(taken).toMatchObject({ status: 201, trace: OUTER.trace })
  await until('its spans', () => receiver.of(OUTER.trace).length >= 6)
  const [request, ...steps] = receiver.of(OUTER.trace)
  expect(request).toMatchObject({ name: 'POST order', kind: 2, parentSpanId: OUTER.span })
  expect(request!.fields).toMatchObject({ 'http.response.status_code': 201 })
  expect(steps.map(({ name }) => name)).toEqual(['admit', 'queue', 'gate', 'ledger', 'answer'])
  for (const step of steps) expect(step.parentSpanId).toBe(request!.spanId)

  // The order's id leads to the trace.
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const story = async () => {
    const answer = await fetch(`${server.url()}/api/admin/orders/${taken.body.id}/story`, { headers })
    return (await answer.json()) as { trace?: string }
  }
  await until('the story names it', async () => (await story()).trace === OUTER.trace)
  // A latency leads to the trace: an exemplar, for who asks for OpenMetrics.
  const scraped = await fetch(`${server.url()}/metrics`, {
    headers: { ...headers, accept: 'application/openmetrics-text' },
  })
  const metrics = await scraped.text()
  expect(scraped.headers.get('content-type')).toStartWith('application/openmetrics-text')
  for (const name of ['stampede_click_to_row_seconds_bucket', 'stampede_http_request_seconds_bucket'])
    expect(metrics).toMatch(
      new RegExp(`^${name}\\{.*\\} [0-9]+ # \\{trace_id="${OUTER.trace}"\\} [0-9.e-]+ [0-9.]+$`, 'm'),
    )
  expect(metrics).toMatch(/^stampede_order_asks_total\{outcome="placed"\} 1$/m)
  expect(metrics).toEndWith('# EOF\n')
  const plain = await (await fetch(`${server.url()}/metrics`, { headers })).text()
  expect(plain).not.toContain('trace_id')
  expect(server.output()).toContain(`"trace":"${OUTER.trace}"`)

  // The gate, not the flag, refuses who asks at the same moment; such a problem names its trace too. A refusal that is known at once has none.
  const other = '1'.repeat(32)
  const refused = await order(late, { traceparent: `00-${other}-${OUTER.span}-01` })
  expect(refused.status).toBe(409)
  if (refused.trace !== undefined) expect(refused.body.traceId).toBe(other)
  expect((await order(await ticket('bob'), { traceparent: `00-${other}-${OUTER.span}-00` })).trace).toBeUndefined()
  expect(receiver.wrong).toEqual([])
})

test('a traceparent that no trusted proxy has sent is not believed, a malformed one neither; the click has a trace of its own', async () => {
  const { receiver, ticket, order } = await open({ TRACE_SAMPLE: '1' })
  const taken = await order(await ticket('ada'), { traceparent: GIVEN })
  expect(taken.status).toBe(201)
  expect(taken.trace).toMatch(/^[0-9a-f]{32}$/)
  expect(taken.trace).not.toBe(OUTER.trace)
  await until('its spans', () => receiver.of(taken.trace!).length >= 6)
  expect(receiver.of(taken.trace!)[0]!.parentSpanId).toBeUndefined()
})

test('a receiver that hangs holds up no order, and the end of the process is in time', async () => {
  const { receiver, server, ticket, order } = await open({ TRACE_SAMPLE: '1' }, 40)
  receiver.hangs = true
  for (let i = 0; i < 40; i++) expect((await order(await ticket(`buyer-${i}`))).status).toBe(201)
  await until('it hangs', () => receiver.requests > 0)
  expect(await server.stop()).toMatchObject({ code: 0 })
})

test('off by default: no header, no body, no trace', async () => {
  const { receiver, ticket, order } = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: '',
    TRACE_SAMPLE: '1',
    TRUSTED_PROXIES: '127.0.0.1',
  })
  const taken = await order(await ticket('ada'), { traceparent: GIVEN })
  expect(taken).toMatchObject({ status: 201, trace: undefined })
  expect(receiver.requests).toBe(0)
})
