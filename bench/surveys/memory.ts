/**
 * Memory of the server: for an idle WebSocket, and for a million refused requests, which should take none. (`growth-over-buyers.ts` shows
 * the memory of a reservation.) Resident memory as the kernel counts it, before and after.
 */

import { SignJWT } from 'jose'
import type { Stage, Survey, SurveyFigure } from '../bench-case.ts'
import { freshOrders } from '../client/buyers.ts'
import { runClosedLoop } from '../client/closed-loop.ts'
import { BUYER_JWT_SECRET } from '../servers/stampede.ts'
import { residentBytes } from './cost.ts'

/** Outside browsers a WebSocket may send an authorization header. */
type HeadedSocket = new (url: string, options: { headers: Record<string, string> }) => WebSocket

const SOCKETS = 5_000
const OPENING_AT_ONCE = 100
/** As many before the first measurement: the rate limits' tables have a fixed size, and their pages must have been touched once. */
const REFUSALS = 1_000_000
/** Enough that no buyer exceeds the rate limit. */
const ASKERS = 60_000
const REFUSALS_MS_MAX = 120_000
const SETTLE_MS = 3_000
const REFUSED = 409
const MB = 1024 * 1024

export const memory: Survey = {
  name: 'memory',
  async run(stage, print) {
    const unexpected = new Set<string>()
    const figures: SurveyFigure[] = []
    figures.push(...(await ofRefusals(stage, unexpected)))
    print(`${this.name}: refusals measured`)
    figures.push(...(await ofSockets(stage, unexpected)))
    print(`${this.name}: sockets measured`)
    return { name: this.name, what: 'resident memory of the server', figures, violations: [...unexpected] }
  },
}

async function settled({ stampede, clock, blink }: Stage): Promise<number> {
  await clock.sleep(blink ? 0 : SETTLE_MS)
  return residentBytes(stampede.pid)
}

/** A million refusals by the sold-out flag and by the gate, and then another million. */
async function ofRefusals(stage: Stage, unexpected: Set<string>): Promise<SurveyFigure[]> {
  const { stampede, clock, connections, blink } = stage
  const figures: SurveyFigure[] = []
  for (const [kind, attempt, units] of [
    ['sold out', 1, 1],
    ['refused by the gate', 2, 10],
  ] as const) {
    const on = await stampede.openSale({ units, attemptsMax: 1 })
    if (units === 1) {
      const expiresAtMs = clock.now() + 3_600_000
      const claims = { ...on, buyer: 'the-one-who-got-it', attempt: 1, notBeforeMs: 0, expiresAtMs }
      await stampede.ask(on, stampede.tickets.issue(claims))
    }
    const requests = freshOrders(stage, stampede.target, [on], ASKERS, attempt)
    const many = async (count: number) => {
      let i = 0
      const next = () => (i < count ? requests[i++ % requests.length] : undefined)
      const { target } = stampede
      const result = await runClosedLoop({ target, connections, forMs: REFUSALS_MS_MAX, clock, next })
      for (const status of result.statuses.keys()) if (status !== REFUSED) unexpected.add(`${kind}: status ${status}`)
    }
    await many(blink ? 1_000 : REFUSALS)
    const before = await settled(stage)
    await many(blink ? 1_000 : REFUSALS)
    const after = await settled(stage)
    await many(blink ? 1_000 : REFUSALS)
    const atLast = await settled(stage)
    const group = `a million ${kind}`
    figures.push(
      { group, at: 'before', value: before / MB, unit: 'MB', ratio: 1 },
      { group, at: 'after', value: after / MB, unit: 'MB', ratio: after / before },
      { group, at: 'after another', value: atLast / MB, unit: 'MB', ratio: atLast / before },
    )
  }
  return figures
}

/** Each opened by its own buyer and left idle. */
async function ofSockets(stage: Stage, unexpected: Set<string>): Promise<SurveyFigure[]> {
  const { stampede, blink } = stage
  const count = blink ? 50 : SOCKETS
  const before = await settled(stage)
  const sockets: WebSocket[] = []
  try {
    for (let from = 0; from < count; from += OPENING_AT_ONCE) {
      const width = Math.min(OPENING_AT_ONCE, count - from)
      sockets.push(...(await Promise.all(Array.from({ length: width }, (_, i) => openSocket(from + i)))))
    }
    const after = await settled(stage)
    const open = sockets.filter(socket => socket.readyState === WebSocket.OPEN).length
    if (open !== count) unexpected.add(`${open} of ${count} sockets are open`)
    return [
      {
        group: `${count.toLocaleString('en-GB')} idle WebSockets`,
        at: 'each',
        value: (after - before) / count / 1024,
        unit: 'KB',
      },
    ]
  } finally {
    for (const socket of sockets) socket.close()
  }

  async function openSocket(no: number): Promise<WebSocket> {
    const token = await new SignJWT({ sub: `listener-${no}` })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
    const { host, port } = stampede.target
    const socket = new (WebSocket as unknown as HeadedSocket)(`ws://${host}:${port}/api/live`, {
      headers: { authorization: `Bearer ${token}` },
    })
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve()
      socket.onclose = ({ code }) => reject(new Error(`a WebSocket was refused (${code})`))
    })
    return socket
  }
}
