import { describe, expect, test } from 'bun:test'
import type { Log } from '../../base/log.ts'
import type { Order } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import type { ChannelMessage } from '../../gate/channel.ts'
import type { Partition } from '../../gate/outbox.ts'
import { createMessages } from './messages.ts'
import { shareMessages } from './share-messages.ts'

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

function order(id: string, version: number): Order {
  return {
    id,
    sale: '7',
    item: '71',
    buyer: 'ann',
    attempt: 1,
    quantity: 1,
    price: { amount: 100, currency: 'CNY' },
    state: version === 1 ? 'pending' : 'paid',
    reason: undefined,
    supersededBy: undefined,
    epoch: 1,
    reservedAtMs: 0,
    placedAtMs: 0,
    payByMs: undefined,
    paidAtMs: undefined,
    closedAtMs: undefined,
    version,
    payment: undefined,
  }
}

function openProcess() {
  const local = createMessages()
  const told: string[] = []
  const said: ChannelMessage[] = []
  const heard: string[] = []
  const flushes: (() => void)[] = []
  let hear: (message: ChannelMessage) => void = () => {}
  let gap = () => {}
  local.listen({
    orderChanged: one => void told.push(`${one.id}/${one.version}`),
    saleChanged: sale => void told.push(`sale ${sale.id}`),
    missed: () => void told.push('missed'),
  })
  const messages = shareMessages({
    messages: local,
    channel: {
      publish: message => void said.push(message),
      listen(listener) {
        hear = listener
      },
      onGap(listener) {
        gap = listener
      },
    },
    cache: {
      reserved: (of, { epoch, version, left }, buyers) =>
        void heard.push(`reserved ${of} ${epoch}.${version} ${left} ${buyers}`),
      missed: () => void heard.push('missed'),
    },
    catalog: { invalidate: () => void heard.push('invalidate'), find: async id => ({ id }) as Sale },
    acknowledged: { settled: id => void heard.push(`settled ${id}`) },
    waiters: { resolve: one => void heard.push(`placed ${one.id}`) },
    log: quiet,
    onSaleChanged() {},
    defer: fn => void flushes.push(fn),
  })
  return {
    messages,
    told,
    said,
    heard,
    hear: (message: ChannelMessage) => hear(message),
    gap: () => gap(),
    flush: () => flushes.splice(0).forEach(fn => void fn()),
  }
}

describe('news between processes', () => {
  test('a batch is said as one message, and what comes back to its sender is not told twice', () => {
    const here = openProcess()
    here.messages.orderChanged(order('1', 1))
    here.messages.orderChanged(order('2', 1))
    expect(here.said).toEqual([])
    here.flush()
    expect(here.said).toHaveLength(1)
    here.hear(here.said[0]!)
    expect(here.told).toEqual(['1/1', '2/1'])
  })

  test('a change of the payment is told without a new version of the order, once, and no older one after it', () => {
    const here = openProcess()
    const paying = (no: number): Order => ({
      ...order('1', 1),
      payment: { provider: 'house', method: 'page', state: no === 1 ? 'started' : 'declined', qr: undefined, no },
    })
    for (const no of [1, 2, 1, 2]) here.hear({ kind: 'orders', orders: [paying(no)] })
    here.hear({ kind: 'orders', orders: [order('1', 1)] })
    here.hear({ kind: 'orders', orders: [order('1', 2)] })
    expect(here.told).toEqual(['1/1', '1/1', '1/2'])
  })

  test('no older version is told after a newer one, wherever it comes from', () => {
    const here = openProcess()
    here.hear({ kind: 'orders', orders: [order('1', 2)] })
    here.hear({ kind: 'orders', orders: [order('1', 1)] })
    here.messages.orderChanged(order('1', 1))
    here.flush()
    expect(here.told).toEqual(['1/2'])
    expect(here.said).toEqual([])
  })

  test("another's order settles what was acknowledged here and answers whoever waits for it", () => {
    const here = openProcess()
    here.hear({ kind: 'orders', orders: [order('1', 1)] })
    expect(here.heard).toEqual(['settled 1', 'placed 1'])
    const partition = '71' as Partition
    here.hear({ kind: 'reserved', item: '71', partition, epoch: 3, version: 8, left: 4, buyers: ['ann', 'bob'] })
    expect(here.heard.at(-1)).toBe('reserved 71 3.8 4 ann,bob')
  })

  test('more orders than fit into one message are said in several', () => {
    const here = openProcess()
    for (let i = 0; i < 450; i++) here.messages.orderChanged(order(String(i), 1))
    here.flush()
    expect(here.said.map(message => (message.kind === 'orders' ? message.orders.length : 0))).toEqual([200, 200, 50])
  })

  test('a sale that changed elsewhere is read anew and told here; a gap makes everything doubtful', async () => {
    const here = openProcess()
    here.hear({ kind: 'sale', sale: '7' })
    expect(here.heard).toEqual(['invalidate'])
    await Promise.resolve()
    await Promise.resolve()
    expect(here.told).toEqual(['sale 7'])
    here.gap()
    expect(here.heard).toEqual(['invalidate', 'missed', 'invalidate'])
    expect(here.told.at(-1)).toBe('missed')
    here.messages.saleChanged({ id: '8' } as Sale)
    expect(here.said).toEqual([{ kind: 'sale', sale: '8' }])
  })
})
