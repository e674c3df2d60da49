/**
 * What traces cost at 1 % sampling: placed orders, and refusals of a sold-out item, beside the same server with traces off. The receiver takes
 * everything. PostgreSQL of both on the server's core, so that all that an order costs shows. Afterwards the server with traces has sent spans, and lost none.
 */

import type { BenchCase, PreparedCase, Stage } from '../bench-case.ts'
import { Acknowledged, askersOf, buyersOf } from '../client/buyers.ts'
import { orderRequest } from '../client/request-bytes.ts'
import { placePostgres } from '../cores.ts'
import { type Child, startConstant } from '../servers/child.ts'
import { ADMIN_TOKEN, type Stampede, startStampede } from '../servers/stampede.ts'

const UNITS = 10_000_000
const TICKETS_PER_SECOND = 50_000
const BUYERS = 20_000
const HOUR_MS = 3_600_000
const SOLD_OUT = 409
const WARM_MS = 2_000
const SENT_MS_MAX = 10_000
const AGAIN_MS = 200

interface Sides {
  readonly on: Stampede
  readonly off: Stampede
  readonly receiver: Child
  close(): Promise<void>
}

export const tracesOn: readonly BenchCase[] = [
  ...[64, 256].map(connections => ({
    name: `traces 1 %, placed, ${connections} connections`,
    what: 'orders placed and committed with one click in a hundred traced, beside traces off',
    aims: { off: { rate: 0.97 } },
    onlyWhenNamed: true as const,
    prepare: (stage: Stage) => placed(stage, connections),
  })),
  {
    name: 'traces 1 %, sold out',
    what: 'orders for a sold-out item with traces on, beside traces off',
    aims: { off: { rate: 0.98 } },
    onlyWhenNamed: true as const,
    prepare: refused,
  },
]

async function open({ clock }: Stage): Promise<Sides> {
  const nowMs = () => clock.now()
  const receiver = await startConstant({ status: 200, headers: { 'content-type': 'application/json' }, body: '{}' })
  const { host, port } = receiver.target
  const traced = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${host}:${port}`,
    TRACE_SAMPLE: '0.01',
    TRACE_PER_SECOND: '10000',
  }
  const on = await startStampede(nowMs, undefined, { env: traced })
  const off = await startStampede(nowMs)
  for (const one of [on, off]) placePostgres(one.postgres.pid, 'server core')
  return {
    ...{ on, off, receiver },
    async close() {
      await on.stop()
      await off.stop()
      await receiver.stop()
    },
  }
}

async function placed(stage: Stage, connections: number): Promise<PreparedCase> {
  const { clock } = stage
  const sides = await open(stage)
  const sideOf = async (name: string, stampede: Stampede) => {
    const item = await stampede.openSale({ units: UNITS })
    const acknowledged = new Acknowledged()
    const buyers = buyersOf({
      ...{ name, stampede, items: [item], acknowledged, clock, connections },
      serverPid: stampede.pid,
      target: stampede.target,
      ticketsPerSecond: TICKETS_PER_SECOND,
    })
    // Bun keeps compiling hot code for seconds.
    if (!stage.blink) await (await buyers.prepare(WARM_MS))()
    return { name, stampede, item, acknowledged, buyers }
  }
  const on = await sideOf('traces on', sides.on)
  const off = await sideOf('off', sides.off)
  return {
    subject: on.buyers,
    references: [off.buyers],
    settings: { connections, sample: 0.01 },
    async check() {
      const violations: string[] = []
      for (const { name, stampede, item, acknowledged } of [on, off]) {
        violations.push(...acknowledged.unexpected)
        const { pending } = await stampede.audit(item)
        if (pending !== acknowledged.placed)
          violations.push(`${name}: told ${acknowledged.placed} buyers "placed", ${pending} rows`)
      }
      // A blink may be over before one click in a hundred.
      if (on.acknowledged.placed >= 5_000) violations.push(...(await spansLost(stage, sides.on)))
      return { violations }
    },
    close: sides.close,
  }
}

async function refused(stage: Stage): Promise<PreparedCase> {
  const { clock, connections } = stage
  const sides = await open(stage)
  const unexpected = new Set<string>()
  const sideOf = async (name: string, stampede: Stampede) => {
    const on = await stampede.openSale({ units: 1 })
    const expiresAtMs = clock.now() + HOUR_MS
    const ticketOf = (buyer: string) =>
      stampede.tickets.issue({ ...on, buyer, attempt: 1, notBeforeMs: 0, expiresAtMs })
    const bought = await stampede.ask(on, ticketOf('the-one-who-got-it'))
    if (bought.status !== 201) throw new Error(`the only unit could not be bought: ${bought.status}`)
    const requests = Array.from({ length: BUYERS }, (_, i) =>
      orderRequest(stampede.target, on.sale, on.item, ticketOf(`buyer-${i}`)),
    )
    const asking = askersOf({ name, server: stampede, clock, connections, requests, status: SOLD_OUT, unexpected })
    if (!stage.blink) await (await asking.prepare(WARM_MS))()
    return asking
  }
  return {
    subject: await sideOf('traces on', sides.on),
    references: [await sideOf('off', sides.off)],
    settings: { connections, sample: 0.01 },
    check: async () => ({ violations: [...unexpected] }),
    close: sides.close,
  }
}

/** Every span was taken, and there were some. */
async function spansLost({ clock }: Stage, { target }: Stampede): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const untilMs = clock.elapsed() + SENT_MS_MAX
  for (;;) {
    const text = await (await fetch(`http://${target.host}:${target.port}/metrics`, { headers })).text()
    const count = (outcome: string) =>
      Number(new RegExp(`^stampede_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    const lost = count('failed') + count('dropped')
    if (lost > 0) return [`${lost} spans were lost`]
    if (count('sent') > 0) return []
    if (clock.elapsed() > untilMs) return ['no span was sent']
    await clock.sleep(AGAIN_MS)
  }
}
