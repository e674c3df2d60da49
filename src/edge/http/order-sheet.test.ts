/** What a spreadsheet reads: parsed by a CSV reader of another language, and each cell as a spreadsheet would take it. */

import { expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { createZoneTimes } from '../../base/zone-times.ts'
import type { Order } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import { streamCsv } from './csv.ts'
import { createOrderSheet } from './order-sheet.ts'

const SALE = {
  id: '7310000000000000001',
  items: [{ id: '7310000000000000002', name: '=1+1 茶, "best"', sku: '1-MAR' }],
  contactFields: ['phone', 'name', 'address'],
} as unknown as Sale

const order = (more: Partial<Order>): Order => ({
  ...{ id: '7310000000000000003', sale: SALE.id, item: '7310000000000000002', buyer: '13800138000', attempt: 1 },
  ...{ quantity: 3, price: { amount: 199_950, currency: 'CNY' }, state: 'closed', reason: 'refunded' },
  ...{ supersededBy: undefined, epoch: 1, version: 1, payment: undefined },
  ...{ reservedAtMs: Date.parse('2026-11-10T16:00:00.5Z'), placedAtMs: Date.parse('2026-11-10T16:00:01Z') },
  ...{ payByMs: undefined, paidAtMs: Date.parse('2026-11-10T16:05:00Z'), closedAtMs: undefined },
  ...more,
})

/** As Python's csv module reads it, which is not ours. */
async function read(orders: readonly Order[], contact: Record<string, string> | undefined, language: 'en' | 'zh') {
  const sheet = createOrderSheet({
    sale: SALE,
    zone: 'Asia/Shanghai',
    timeOf: createZoneTimes('Asia/Shanghai'),
    language,
  })
  const pages = [orders.map(one => sheet.lineOf(one, contact && { contact, metadata: undefined })), []]
  const bytes = Buffer.from(await streamCsv('x.csv', sheet.head, async () => pages.shift() ?? []).arrayBuffer())
  expect([...bytes.subarray(0, 3)], 'Excel needs the mark').toEqual([0xef, 0xbb, 0xbf])
  const program =
    'import csv,json,sys,io; t=sys.stdin.buffer.read().decode("utf-8-sig"); print(json.dumps(list(csv.reader(io.StringIO(t, newline="")))))'
  return JSON.parse(execFileSync('python3', ['-c', program], { input: bytes, encoding: 'utf8' })) as string[][]
}

/** What stands in the cell: the text of a formula that is nothing but a text. */
function cell(text: string): { readonly text: string; readonly kept: boolean } {
  const literal = /^="((?:[^"]|"")*)"$/.exec(text)
  return literal === null ? { text, kept: false } : { text: literal[1]!.replaceAll('""', '"'), kept: true }
}

test('ids, SKUs, buyers and phone numbers stay as they are; names, amounts and times are as people write them', async () => {
  const said = { phone: '+86 138 0013 8000', name: '@王小明', address: '上海市\n"浦东", 1 号' }
  const [head, line] = await read([order({})], said, 'en')
  const row = Object.fromEntries(head!.map((name, at) => [name, cell(line![at]!)]))
  const kept = (text: string) => ({ text, kept: true })
  const plain = (text: string) => ({ text, kept: false })
  expect(row).toEqual({
    Order: kept('7310000000000000003'),
    State: plain('closed: refunded'),
    Item: plain(`'=1+1 茶, "best"`),
    SKU: kept('1-MAR'),
    Quantity: plain('3'),
    Price: plain('1999.50'),
    Amount: plain('5998.50'),
    Currency: plain('CNY'),
    Buyer: kept('13800138000'),
    'Reserved (Asia/Shanghai)': plain('2026-11-11 00:00:00'),
    'Placed (Asia/Shanghai)': plain('2026-11-11 00:00:01'),
    'Pay by (Asia/Shanghai)': plain(''),
    'Paid (Asia/Shanghai)': plain('2026-11-11 00:05:00'),
    'Closed (Asia/Shanghai)': plain(''),
    Phone: kept('+86 138 0013 8000'),
    Name: plain(`'@王小明`),
    Address: plain('上海市\n"浦东", 1 号'),
    'Item id': kept('7310000000000000002'),
    'Sale id': kept('7310000000000000001'),
  })
  const [chinese] = await read([], undefined, 'zh')
  expect(chinese!.slice(0, 4)).toEqual(['订单', '状态', '商品', '货号'])
})

test('nothing from outside runs: a buyer or a SKU cannot leave its text', async () => {
  const texts = ['=cmd()', '"&cmd()&"', '+1', '-1', '@x', '""', '\u200b=1', "'=1", `${'"'.repeat(9)}=1`]
  const unfit = ['\t=cmd()', `=${'x'.repeat(300)}`]
  const [, ...lines] = await read(
    [...texts, ...unfit].map(buyer => order({ buyer })),
    undefined,
    'en',
  )
  const buyers = lines.map(line => line[8]!)
  expect(buyers.slice(0, texts.length).map(cell)).toEqual(texts.map(text => ({ text, kept: true })))
  expect(buyers.slice(texts.length)).toEqual(unfit.map(text => `'${text}`))
})
