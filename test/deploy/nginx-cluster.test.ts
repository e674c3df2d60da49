import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/base/clock.ts'
import { barriers, button, openBrowser, type Visitor } from '../harness/browser.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { edgesTogether } from '../harness/edges-together.ts'
import { gatherFacts } from '../harness/facts.ts'
import { freePort } from '../harness/free-port.ts'
import { gauges } from '../harness/gauges.ts'
import { layOutSite } from '../harness/nginx-site.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { until, within } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'
import { ensureServers } from '../servers.ts'
import { buyLikeThePage, tokenOf } from './page-buyer.ts'
import { buildPage } from './shipped.ts'

setDefaultTimeout(300_000)

const SOON_MS = 120_000
const EDGES = 3
const UNANSWERED = 'stampede_rate_questions_total{kind="failed"}'

const house = new Playground()
let pageFolder: string
beforeAll(() => {
  ensureServers(['chromium', 'nginx', 'redis-server'], line => console.log(line))
  pageFolder = buildPage(house)
})
afterAll(() => house.undo())

/** The shipped site, with as many edges in its list as there are. */
async function siteBefore(playground: Playground, cluster: Cluster): Promise<string> {
  const port = await freePort()
  const line = (address: string) => `server ${address} weight=1 max_fails=1 fail_timeout=1s;`
  const edges = cluster.edges().map(edge => line(new URL(edge.server().url()).host))
  const site = await layOutSite(playground, {
    site: 'compose/nginx.conf',
    page: pageFolder,
    instead: [
      ['listen 80 ', `listen 127.0.0.1:${port} `],
      [line('edge-a:8080'), edges.join('\n  ')],
      [line('edge-b:8080'), ''],
    ],
  })
  await site.start()
  return `http://127.0.0.1:${port}`
}

/** As a shop would set them: nginx is believed, everything else is as it comes. */
const SETTINGS = { TRUSTED_PROXIES: '127.0.0.1', RATE_PER_ADDRESS: '', RATE_PER_BUYER: '' }
const startCluster = (playground: Playground, env: Readonly<Record<string, string>> = {}) =>
  Cluster.start(playground, { edges: EDGES, workers: 1, keepers: 1, fixedPorts: true, env: { ...SETTINGS, ...env } })

/** Writes down every banner and every state of the button that a person gets to see. */
const WATCH = `globalThis.seenHere = new Set()
globalThis.limitsHere = []
const look = () => {
  for (const banner of document.querySelectorAll('.banner')) globalThis.seenHere.add('banner: ' + banner.textContent)
  for (const one of document.querySelectorAll('.main-button')) {
    globalThis.seenHere.add(one.dataset.state)
    if (one.dataset.state === 'limited') globalThis.limitsHere.push(one.textContent)
  }
}
look()
new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })`
const seenOn = (page: Page) => page.evaluate('[...globalThis.seenHere]') as Promise<string[]>
/** What somebody sees who buys without any trouble. */
const FINE = new Set(['live', 'sending', 'reserved', 'placed'])

describe('the shipped site before three edges', () => {
  const playground = new Playground()
  let cluster: Cluster
  let shop: Shop
  let url: string
  let visitorFrom: (address: string, buyer: string) => Promise<Visitor>
  const open: Visitor[] = []

  beforeAll(async () => {
    cluster = await startCluster(playground)
    // The operator comes in by another door.
    shop = new Shop(() => cluster.url())
    url = await siteBefore(playground, cluster)
    const browser = await openBrowser(playground)
    visitorFrom = async (address, buyer) => {
      const visitor = await browser.visitor(() => url, { cut: true, extraHTTPHeaders: { 'x-test-address': address } })
      visitor.context.setDefaultTimeout(SOON_MS)
      const headers = { authorization: `Bearer ${await tokenOf(buyer)}` }
      const signIn = async () =>
        (await visitor.context.request.post(`${url}/api/session`, { headers })).status() === 204
      await until('signed in', signIn, SOON_MS)
      open.push(visitor)
      return visitor
    }
  })
  afterEach(async () => {
    for (const visitor of open.splice(0)) await visitor.context.close()
  })
  afterAll(() => playground.undo())

  const placed = (page: Page) => page.locator('.panel-pending')

  test('two edges are killed under load, one after the other: nobody sees an error, in the page or with its manners', async () => {
    const begunMs = systemClock.elapsed()
    const BUYERS = 500
    const sale = await shop.openSale(-1_000, [{ units: BUYERS + EDGES }])
    const pages = await Promise.all(
      Array.from({ length: EDGES }, async (_, i) => {
        const page = await (await visitorFrom(`198.51.100.${i}`, `looker-${i}`)).tab(`/s/${sale.id}`)
        await button(page, 'live').waitFor()
        await page.evaluate(WATCH)
        return page
      }),
    )
    const visits = Array.from({ length: BUYERS }, (_, i) => ({
      buyer: `buyer-${i}`,
      address: `10.20.${i >> 8}.${i & 255}`,
    }))
    const crowd = meanwhile(
      atMost(12, visits, async visit => {
        await systemClock.sleep(40)
        return buyLikeThePage(url, sale, visit, shop.told)
      }),
    )
    const answered = (count: number) =>
      until(`${count} answers`, () => shop.told.filter(({ answer }) => 'order' in answer).length >= count, SOON_MS)
    const [first, second] = cluster.edges()
    await answered(BUYERS / 10)
    // Pressed in the very moment in which an edge dies.
    await Promise.all([first?.kill(), ...pages.map(page => button(page, 'live').click())])
    await Promise.all(pages.map(page => placed(page).waitFor()))
    await answered(BUYERS / 4)
    await first?.startAgain()
    await second?.kill()
    const outcomes = await within('everybody has an answer', SOON_MS, crowd)
    await second?.startAgain()

    const asks = outcomes.reduce((sum, one) => sum + one.asks, 0)
    const kinds = Map.groupBy(shop.told, ({ answer }) => answer.kind)
    console.log(
      `  ${outcomes.length} buyers asked ${asks} times: ${[...kinds].map(([kind, all]) => `${all.length} ${kind}`).join(', ')}`,
    )
    expect(outcomes.flatMap(({ seen }) => seen)).toEqual([])
    expect(kinds.get('unknown')?.length ?? 0, 'connections that nginx cut').toBe(0)
    expect(outcomes.filter(({ order }) => order === undefined)).toEqual([])
    for (const [i, page] of pages.entries()) {
      const seen = await seenOn(page)
      expect({ i, strange: seen.filter(one => !FINE.has(one)) }).toEqual({ i, strange: [] })
      expect(seen).toContain('sending')
      expect(open[i]?.complaints()).toEqual([])
    }
    await cluster.quiet(shop, sale)
    const edge = cluster.edges()[0]
    if (edge === undefined) throw new Error('there is no edge')
    const facts = await gatherFacts(shop, sale, edge.server())
    assertPromises(facts, begunMs)
    const rows = new Map((facts.orders ?? []).map(order => [order.buyer, order.id]))
    for (const [i, { order }] of outcomes.entries()) expect(rows.get(`buyer-${i}`)).toBe(order ?? '')
    for (let i = 0; i < EDGES; i++) expect(rows.has(`looker-${i}`)).toBe(true)
    expect(rows.size).toBe(BUYERS + EDGES)
  })

  test('a buyer whose address asks too much is told for how long to wait, and then buys', async () => {
    // Many items, because requests of a full address get through: on a slow machine, which asks little more than nginx lets pass, most of them.
    const ITEMS = 20
    const sale = await shop.openSale(
      -1_000,
      Array.from({ length: ITEMS }, () => ({ units: 5 })),
    )
    const address = '198.51.100.77'
    const page = await (await visitorFrom(address, 'crowded')).tab(`/s/${sale.id}`)
    await until('everything can be bought', async () => (await button(page, 'live').count()) === ITEMS, SOON_MS)
    await page.evaluate(WATCH)
    // The neighbours behind the same address: as long as they go on, nginx answers in place of the edges.
    let flooding = true
    const ask = () => fetch(`${url}/api/time`, { headers: { 'x-test-address': address } })
    const flood = meanwhile(
      Promise.all(
        Array.from({ length: 40 }, async () => {
          while (flooding) await (await ask()).text()
        }),
      ),
    )
    await until('nginx refuses them', async () => (await ask()).status === 429, SOON_MS)
    // It says so for a second only: what it said is written down in the moment in which it does.
    const limits = async () => ((await page.evaluate('globalThis.limitsHere')) as string[])[0]
    const press = async () => {
      // Not by the pointer: what one press brings moves the next button, out of the window too.
      const live = button(page, 'live').first()
      if ((await live.count()) > 0) await live.dispatchEvent('click', {}, { timeout: 1_000 }).catch(() => {})
      return limits()
    }
    expect(await until('the buyer is told to wait', press, SOON_MS)).toMatch(/^Try again in \d s$/)
    flooding = false
    await flood
    await until(
      'all are bought in the end',
      async () => {
        const live = button(page, 'live').first()
        // One that is not live any more when it is to be clicked is looked for again.
        if ((await live.count()) > 0) await live.click({ force: true, timeout: 1_000 }).catch(() => {})
        return (await shop.orders(sale.id)).length === ITEMS
      },
      SOON_MS,
    )
    expect((await seenOn(page)).filter(one => one !== 'limited' && !FINE.has(one))).toEqual([])
    expect(open[0]?.complaints()).toEqual([])
  })

  test('with every edge down the page still comes, waits, and goes on by itself when they are back', async () => {
    const sale = await shop.openSale(-1_000, [{ units: 5 }])
    const early = await (await visitorFrom('198.51.100.81', 'early')).tab(`/s/${sale.id}`)
    await button(early, 'live').waitFor()
    const late = await visitorFrom('198.51.100.82', 'late')
    await Promise.all(cluster.edges().map(edge => edge.kill()))
    // For a second more the site has its copy of the sale.
    const again = () => fetch(`${url}/api/sales/${sale.id}`, { headers: { 'x-test-address': '198.51.100.83' } })
    await until('no copy of the sale is left', async () => (await again()).status >= 500)

    const page = await late.tab(`/s/${sale.id}`)
    await page.getByRole('navigation').waitFor()
    await page.locator('main [role=status]').waitFor({ state: 'attached' })
    await page.locator('.banner').waitFor()
    await button(early, 'live').click()
    await early.locator('.note', { hasText: 'asking again' }).waitFor()
    expect(await barriers(early)).toEqual([])

    await Promise.all(cluster.edges().map(edge => edge.startAgain()))
    await placed(early).waitFor()
    const backMs = systemClock.elapsed()
    await button(page, 'live').click()
    await placed(page).waitFor()
    console.log(`  who came while all were down could buy after ${Math.round(systemClock.elapsed() - backMs)} ms more`)
    expect(open.flatMap(visitor => visitor.complaints())).toEqual([])
    expect((await shop.orders(sale.id)).map(({ buyer }) => buyer).toSorted()).toEqual(['early', 'late'])
  })
})

describe('limits behind the shipped site', () => {
  const playground = new Playground()
  afterEach(() => playground.undo())

  test('count who asks, whatever the headers say', async () => {
    const LIMIT = 20
    // Nothing comes free while this lasts.
    const cluster = await startCluster(playground, { RATE_PER_ADDRESS: `${LIMIT}/1h` })
    const url = await siteBefore(playground, cluster)
    const sale = await new Shop(() => cluster.url()).openSale(-1_000, [{ units: 5 }])
    const orders = `${url}/api/sales/${sale.id}/items/${sale.items[0]?.id}/orders`
    /** Without a ticket: what an edge lets through is `401`, what it does not is `429`. Who is told "busy" was not counted, and asks again. */
    const ask = (from: string, lie?: string) => {
      const claimed = lie === undefined ? {} : { 'x-forwarded-for': lie, 'x-real-ip': lie, forwarded: `for=${lie}` }
      const once = async () => {
        const answer = await fetch(orders, { method: 'POST', headers: { 'x-test-address': from, ...claimed } })
        const { code } = (await answer.json()) as { code: string }
        return code === 'busy' ? undefined : `${answer.status} ${code}`
      }
      return until('a word that counts', once, SOON_MS)
    }
    const LET_IN = '401 ticket_invalid'
    await Promise.all(
      cluster.edges().map((edge, i) =>
        until(
          'the sale is at every edge',
          async () => {
            const headers = { 'x-forwarded-for': `192.0.2.${i}` }
            const answer = await fetch(orders.replace(url, edge.server().url()), { method: 'POST', headers })
            return answer.status === 401
          },
          SOON_MS,
        ),
      ),
    )
    const asks = Array.from({ length: 8 * LIMIT }, (_, i) => i)
    await edgesTogether(cluster, SOON_MS)
    const unanswered = async () => {
      const each = cluster.edges().map(async edge => (await gauges(edge.server()))(UNANSWERED))
      return (await Promise.all(each)).reduce((sum, one) => sum + one, 0)
    }
    // An edge that gets no word from the others in time (the machine is busy) holds its own part: that is another promise.
    for (let client = 20; ; client++) {
      const before = await unanswered()
      // A new name each time: it is still one client.
      const told = await atMost(8, asks, i => ask(`203.0.113.${client}`, `10.9.8.${i}`))
      const letIn = told.filter(one => one === LET_IN).length
      const lost = (await unanswered()) - before
      console.log(
        `  ${letIn} of ${told.length} let in by ${EDGES} edges with RATE_PER_ADDRESS=${LIMIT}/1h, ${lost} questions without an answer`,
      )
      expect(new Set(told)).toEqual(new Set([LET_IN, '429 rate_limited']))
      expect(letIn).toBeLessThanOrEqual(lost === 0 ? LIMIT * 1.1 : EDGES * LIMIT)
      if (lost === 0) break
      expect(client, 'clients in vain').toBeLessThan(25)
    }
    // Another's name: it is not the other one who pays for it.
    await atMost(8, asks, () => ask('203.0.113.10', '203.0.113.11'))
    expect(await ask('203.0.113.10')).toBe('429 rate_limited')
    expect(await ask('203.0.113.11')).toBe(LET_IN)
  })
})
