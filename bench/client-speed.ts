/**
 * Program: measures the rehearsal's own client against the simplest Bun server, from one core. A load generator that is slower than the
 * server measures itself. Prints one line per round; `node bin/run.mjs bench/client-speed.ts [connections] [rounds]`.
 */

import { systemClock } from '../src/base/clock.ts'
import { type Job, Pool } from '../src/rehearsal/client/pool.ts'
import { canPin, cpuMicros, pinLoad } from './cores.ts'
import { startConstant } from './servers/child.ts'

const ROUND_MS = 3_000
const [connections = 256, rounds = 3] = process.argv.slice(2).map(Number)

pinLoad()
const child = await startConstant({
  status: 409,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ code: 'sold_out', detail: 'All units are taken.' }),
})
const clock = systemClock
const pool = await Pool.open({
  target: child.target,
  connections,
  clock,
  addressOf: seat => `127.1.${seat >> 8}.${seat & 255}`,
})
const bytes = Buffer.from(
  `POST /api/sales/1/items/2/orders HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${'t'.repeat(150)}\r\ncontent-length: 0\r\n\r\n`,
)

for (let round = 1; round <= rounds; round++) {
  const fromMs = clock.elapsed()
  const cpuBefore = cpuMicros(process.pid)
  let answers = 0
  let open = 0
  const done = Promise.withResolvers<void>()
  const job = (): Job => ({
    bytes,
    sentMs: 0,
    answered(_, nowMs) {
      answers += 1
      open -= 1
      if (nowMs - fromMs < ROUND_MS) send()
      else if (open === 0) done.resolve()
    },
    lost: () => done.reject(new Error('a connection broke')),
  })
  const send = () => {
    open += 1
    pool.send(job())
  }
  for (let i = 0; i < connections; i++) send()
  await done.promise
  const tookMs = clock.elapsed() - fromMs
  const cpu = cpuBefore === undefined ? undefined : (cpuMicros(process.pid) ?? 0) - cpuBefore
  const perRequest =
    cpu === undefined
      ? ''
      : `, ${(cpu / answers).toFixed(1)} µs of client CPU each: ${Math.round(1e6 / (cpu / answers)).toLocaleString('en-GB')} a second from one core`
  console.log(
    `round ${round}: ${Math.round((answers * 1000) / tookMs).toLocaleString('en-GB')} requests a second${perRequest}`,
  )
}
console.log(canPin ? 'client and server pinned to a core each' : 'nothing pinned')
pool.close()
await child.stop()
process.exit(0)
