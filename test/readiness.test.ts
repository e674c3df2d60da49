import { afterEach, expect, test } from 'bun:test'
import { freePort } from './harness/free-port.ts'
import { Playground } from './harness/playground.ts'
import { Shop } from './harness/shop.ts'
import { Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('a process takes no traffic before its gates are built', async () => {
  const dataDir = playground.dataDir()
  const port = await freePort()
  const env = { PORT: String(port) }
  const before = await Stampede.start(playground, { dataDir, env })
  await new Shop(() => before.url()).openSale(-1_000, [{ units: 5 }])
  await before.stop()

  const seen: number[] = []
  let ready = false
  const server = Stampede.spawn(playground, { dataDir, env, faultPoints: 'rebuild.snapshot=delay:2000' })
  const started = server.ready().then(() => {
    ready = true
  })
  await until('the process is ready', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer !== undefined && !ready) seen.push(answer.status)
    return ready
  })
  await started
  expect(seen).toContain(503)
  // The line is printed a moment after the last gate was built.
  expect(seen.filter(status => status === 200).length).toBeLessThan(20)
}, 300_000)
