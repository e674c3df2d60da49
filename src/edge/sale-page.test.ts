import { expect, test } from 'bun:test'
import type { Sale } from '../domain/sale.ts'
import { loadPages } from './pages.ts'
import { indexPage, salePage, writtenSale } from './sale-page.ts'

const HOSTILE = '</script><script>alert(1)</script><!-- " \' & $& $1 \u2028\u2029 ]]>'
const OPENS = Date.UTC(2030, 0, 1)
const item = {
  id: '2',
  sale: '1',
  sku: undefined,
  name: HOSTILE,
  image: `https://pictures.example/x?"><script>`,
  description: `first ${HOSTILE}\nsecond`,
  price: { amount: 199_900, currency: 'CNY' },
  listPrice: undefined,
  units: 10,
  available: 3,
  quantityMax: 1,
  attemptsMax: 3,
  payWithinMs: 900_000,
  whenGateDown: 'ledger',
  homeDoor: 'gate',
  shards: 1,
  door: 'gate',
  epoch: 7,
  gateEpoch: 7,
  gateShards: 1,
  changeNo: 0,
} as const
const sale = {
  id: '1',
  name: HOSTILE,
  opensAtMs: OPENS,
  closesAtMs: OPENS + 3_600_000,
  warmBeforeMs: 1_800_000,
  state: 'ready',
  stateNo: 1,
  rule: 'first_come',
  items: [item],
} as unknown as Sale

const written = (more: Partial<Sale> = {}) => writtenSale({ ...sale, ...more }, undefined)
const dataIn = (html: string) => JSON.parse(/id="sales">(.*?)<\/script>/s.exec(html)?.[1] ?? '')

test('whatever a sale is called, its page holds it as text and as data, and nothing of it is code', async () => {
  const { html: template } = await loadPages()
  for (const html of [salePage(template, written()), indexPage(template, [written()])]) {
    // The page's own script, the data, and nothing else.
    expect(html.match(/<script/g)).toHaveLength(2)
    expect(html).not.toContain('<!--')
    expect(html).toContain('&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- &quot; &#39; &amp; $&amp; $1')
    expect(/id="sales">(.*?)<\/script>/s.exec(html)?.[1]).not.toMatch(/[<>&\u2028\u2029]/)
    const { sales } = dataIn(html)
    expect(sales[0].name).toBe(HOSTILE)
    expect(sales[0].items[0].image).toBe(item.image)
    // What the template has stays.
    for (const part of template.match(/(src|href)="[^"]+"/g) ?? []) expect(html).toContain(part)
  }
  const page = salePage(template, written())
  expect(page).toContain(']]&gt;\nsecond</p>')
  expect(dataIn(page).sales[0].items[0].description).toBe(item.description)
  expect(dataIn(indexPage(template, [written()])).sales[0].items[0]).not.toHaveProperty('description')
  expect(dataIn(page).all).toBe(false)
  expect(dataIn(indexPage(template, [])).sales).toEqual([])
})

test('the same sale gives the same page: neither time nor stock nor epoch is in it', () => {
  const other = { ...sale, items: [{ ...item, available: 0, epoch: 9, door: 'ledger' as const }] }
  expect(writtenSale(other, undefined)).toEqual(written())
  expect(written()).toMatchObject({ state: 'scheduled', items: [{ left: 10 }] })
  expect(written({ state: 'paused' }).state).toBe('paused')
  expect(written({ state: 'over' }).state).toBe('over')
})

test('the page brings its own policy along, which lets no inline script run', async () => {
  const { html: template } = await loadPages()
  const policy = /http-equiv="content-security-policy" content="([^"]+)"/.exec(salePage(template, written()))?.[1] ?? ''
  expect(policy).toContain('script-src &#39;self&#39;')
  expect(policy).not.toContain('frame-ancestors')
})
