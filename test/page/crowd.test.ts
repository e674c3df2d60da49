import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { Operator } from '../../src/rehearsal/operator/operator.ts'
import { Audits } from '../../src/rehearsal/verdict/audits.ts'
import { gatherFacts } from '../../src/rehearsal/verdict/facts.ts'
import { barriers, button, openBrowser } from '../harness/browser.ts'
import { meanwhile } from '../harness/crowd.ts'
import { assertDescribed } from '../harness/described.ts'
import { gauge } from '../harness/gauges.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { childrenOf } from '../harness/postgres-process.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'
import { signIn } from '../ops/ops-desk.ts'

const OPENS_IN_MS = 6_000
/** As far away as a crowd is still offered for it, and some room. */
const LATER_MS = 50_000
const PUT_OFF_EVERY_MS = 5_000
const PUT_OFF_MS = 1_800_000
const UNITS = 100
const TICKETS_GIVEN = 'stampede_ticket_asks_total{outcome="given"}'

const playground = new Playground()
let demo: Stampede
let plain: Stampede
let doomed: Stampede

beforeAll(async () => {
  const guests = { BUYER_JWT_SECRET: '', GUEST_SIGN_IN: 'on' }
  // The crowd gets no favours: the limits are those of any start.
  const limits = { RATE_PER_ADDRESS: '100/1s', RATE_PER_BUYER: '5/1s' }
  const start = (env: Readonly<Record<string, string>>) =>
    Stampede.start(playground, { dataDir: playground.dataDir(), env: { ...guests, ...env } })
  // One after the other: each has half a minute to start. So long after it its sale opens, unless that is put off until a test says when.
  demo = await start({ ...limits, DEMO: 'on' })
  await opensIn(demo, PUT_OFF_MS)
  // With a shop's key beside its guests.
  doomed = await start({ DEMO: 'on', BUYER_JWT_SECRET })
  await opensIn(doomed, PUT_OFF_MS)
  plain = await start({})
}, 300_000)
afterAll(() => playground.undo())

/** Asks, holds the answer against the description, and gives it back. */
async function ask(server: Stampede, method: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(server.url() + path, { method, headers })
  const text = await response.text()
  assertDescribed(method, path.split('?')[0]!, response.status, response.headers, text)
  return {
    status: response.status,
    ...(JSON.parse(text) as { crowd?: string; sale?: string; buyers?: number; code?: string }),
  }
}

/** What a new guest of this server sends, as the page does. */
async function guestOf(server: Stampede): Promise<Record<string, string>> {
  const response = await fetch(`${server.url()}/api/session`, { method: 'POST', body: '{}' })
  return { cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

/** The demo's sale opens so long from now; resolves with its id when everybody is told so. */
async function opensIn(server: Stampede, ms: number): Promise<string> {
  const till = new Till(() => server.url())
  const { sales } = (await till.operator('GET', '/sales')) as unknown as {
    sales: readonly { id: string; name: string }[]
  }
  const { id } = sales.find(sale => sale.name === 'Demo sale')!
  const opensAt = toRfc3339(systemClock.now() + ms)
  await till.operator('PATCH', `/sales/${id}`, { opensAt })
  const told = async () => (await (await fetch(`${server.url()}/api/sales/${id}`)).json()) as { opensAt: string }
  await until('the new opening', async () => Date.parse((await told()).opensAt) === Date.parse(opensAt))
  return id
}

/** The demo's sale is about to open, and does not until the returned function is called: a slow machine has all the time it needs. */
async function keepAhead(server: Stampede): Promise<{ readonly id: string; end(): Promise<void> }> {
  const id = await opensIn(server, LATER_MS)
  const ending = new AbortController()
  const putOff = async () => {
    for (;;) {
      await systemClock.sleep(PUT_OFF_EVERY_MS, ending.signal)
      if (ending.signal.aborted) return
      await opensIn(server, LATER_MS)
    }
  }
  const ended = meanwhile(putOff())
  return {
    id,
    async end() {
      ending.abort()
      await ended
    },
  }
}

/** The processes that play buyers for this server. */
function crowdsOf(server: Stampede): number[] {
  return childrenOf(server.pid).filter(pid => isCrowd(pid))
}

function isCrowd(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('demo-crowd')
  } catch {
    return false
  }
}

const offer = (page: Page, state: string) => page.locator(`[data-crowd="${state}"]`)

/** Every number of units that the page has shown, from now on. */
async function rememberUnits(page: Page): Promise<() => Promise<readonly number[]>> {
  await page.evaluate(() => {
    const seen: number[] = []
    Object.assign(window, { seen })
    const look = () => {
      const left = document.querySelector('meter')?.value
      if (left !== undefined && left !== seen.at(-1)) seen.push(left)
    }
    // Not once a frame: a busy browser draws few.
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributeFilter: ['value'] })
    look()
  })
  return () => page.evaluate(() => (window as unknown as { seen: number[] }).seen)
}

test('a shop without the demo offers no crowd, and there is none to bring', async () => {
  expect(await ask(plain, 'GET', '/api/demo')).toMatchObject({ status: 200, crowd: 'off' })
  expect(await ask(plain, 'POST', '/api/demo/crowd')).toMatchObject({ status: 404, code: 'not_found' })
  expect(crowdsOf(plain)).toEqual([])
})

test('only a guest of the demo brings the crowd: nobody without a session, no customer of the shop, no guest of another server', async () => {
  const { id, end } = await keepAhead(doomed)
  await until('the offer', async () => (await ask(doomed, 'GET', '/api/demo')).sale === id)
  const customer = `Bearer ${await new Shop(() => doomed.url()).buyerToken('ada')}`
  for (const headers of [
    {},
    { authorization: customer },
    await guestOf(plain),
    { authorization: `Bearer ${ADMIN_TOKEN}` },
  ])
    expect(await ask(doomed, 'POST', '/api/demo/crowd', headers)).toMatchObject({
      status: 401,
      code: 'unauthenticated',
    })
  expect(crowdsOf(doomed)).toEqual([])
  await end()
})

test('the demo has a second sale, with a line and a crowd of its own, which joins before the opening', async () => {
  const { sales } = (await (await fetch(`${plain.url()}/api/sales`)).json()) as { sales: readonly unknown[] }
  expect(sales).toEqual([])
  const till = new Till(() => doomed.url())
  const shown = (await till.operator('GET', '/sales')) as unknown as { sales: readonly { id: string; name: string }[] }
  const { id } = shown.sales.find(sale => sale.name === 'Demo sale with a waiting line')!
  const path = `/api/demo?sale=${id}`
  expect(await ask(doomed, 'GET', path)).toMatchObject({ crowd: 'offered', sale: id, buyers: 1000 })
  expect((await ask(doomed, 'GET', '/api/demo')).sale).not.toBe(id)
  expect((await ask(doomed, 'GET', '/api/demo?sale=1')).crowd).toBe('off')
  const brought = await ask(doomed, 'POST', `/api/demo/crowd?sale=${id}`, await guestOf(doomed))
  expect(brought).toMatchObject({ status: 202, crowd: 'running', sale: id })
  const joined = async () =>
    ((await (await fetch(`${doomed.url()}/api/sales/${id}`)).json()) as { line: { joined: number } }).line.joined
  await until('a crowd in line', async () => (await joined()) > 100)
  for (const pid of crowdsOf(doomed)) process.kill(pid, 'SIGKILL')
  await until('the crowd is gone', () => crowdsOf(doomed).length === 0)
}, 300_000)

test('the crowd ends with the server, however the server ends', async () => {
  await opensIn(doomed, LATER_MS)
  const guest = await guestOf(doomed)
  expect(await ask(doomed, 'POST', '/api/demo/crowd', guest)).toMatchObject({ status: 202, crowd: 'running' })
  const crowd = await until('the crowd', () => crowdsOf(doomed)[0])
  expect(isCrowd(crowd)).toBe(true)
  // With all their tickets they wait for the opening and ask for nothing: only the end of its input tells the crowd.
  await until('2,000 tickets', async () => (await gauge(doomed, TICKETS_GIVEN)) >= 2_000)
  await doomed.kill()
  await until('the end of the crowd', () => !isCrowd(crowd))
}, 300_000)

test('one press brings 2,000 buyers: the units go before one’s eyes, here and on the operations page, each sold once', async () => {
  const sinceMs = systemClock.elapsed()
  const { id, end } = await keepAhead(demo)
  await until('the offer', async () => (await ask(demo, 'GET', '/api/demo')).sale === id)
  const browser = await openBrowser(playground)
  const visitor = await browser.visitor(() => demo.url())
  const page = await visitor.tab(`/s/${id}`)
  await offer(page, 'offered').getByRole('button', { name: 'Bring the crowd' }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: '切换到中文' }).click()
  await offer(page, 'offered').getByRole('button', { name: '启动模拟买家' }).waitFor()
  await page.getByRole('button', { name: 'Switch to English' }).click()

  const operator = await browser.visitor(() => demo.url())
  const ops = await operator.tab(`/ops/sales/${id}`)
  await signIn(ops)
  // A page of another site can't press the button.
  const guest = await guestOf(demo)
  const elsewhere = await ask(demo, 'POST', '/api/demo/crowd', { ...guest, origin: 'http://elsewhere.example' })
  expect(elsewhere).toMatchObject({ status: 404, code: 'not_found' })
  expect(crowdsOf(demo)).toEqual([])

  const units = await rememberUnits(page)
  await end()
  await opensIn(demo, OPENS_IN_MS)
  // Held while one looks: the crowd does not stay.
  const held = until('the crowd', () => crowdsOf(demo)[0]).then(pid => {
    process.kill(pid, 'SIGSTOP')
    return pid
  })
  await offer(page, 'offered').getByRole('button').dblclick()
  const crowd = await held
  await offer(page, 'running').waitFor()
  expect(await ask(demo, 'POST', '/api/demo/crowd', guest)).toEqual({
    status: 202,
    crowd: 'running',
    sale: id,
    buyers: 2000,
  })
  expect(crowdsOf(demo)).toEqual([crowd])
  process.kill(crowd, 'SIGCONT')
  expect(await barriers(page)).toEqual([])

  await button(page, 'sold_out').waitFor()
  await offer(page, 'done').waitFor()
  expect(await barriers(page)).toEqual([])
  const shown = await units()
  console.log(`  units shown: ${shown.join(' ')}`)
  expect(shown.filter(left => left > 0 && left < UNITS).length).toBeGreaterThan(0)
  await ops.waitForFunction(() => {
    const count = (step: string) => Number(document.querySelector<HTMLElement>(`[data-step=${step}]`)?.dataset.count)
    return count('placed') >= 100 && count('paid') > 10 && count('soldOut') > 1_500
  })
  expect([...visitor.complaints(), ...operator.complaints()]).toEqual([])

  const { audit, orders, snapshot } = await gatherFacts({
    operator: new Operator({ url: demo.url(), token: ADMIN_TOKEN }, systemClock),
    audits: new Audits(id, systemClock),
    sale: id,
    firstEpoch: 1,
    told: [],
    atRest: true,
    msMax: 60_000,
    watch: () => {},
    stop: new AbortController().signal,
    partKilled: false,
  })
  expect(audit).toMatchObject({ units: UNITS, consistent: true })
  assertPromises(snapshot, sinceMs)
  const buyers = new Set(orders.map(order => order.buyer))
  expect(buyers.size).toBeGreaterThanOrEqual(UNITS)
  expect(new Set([...buyers].map(buyer => buyer.replace(/-\d+$/, ''))).size).toBe(1)
  await Promise.all([visitor.context.close(), operator.context.close()])
}, 300_000)
