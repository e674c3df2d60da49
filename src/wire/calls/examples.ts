/** The examples in the API's description. A test checks each against its schema. */

export const SALE = {
  id: '4711001337000001',
  name: 'Friday',
  opensAt: '2026-11-13T10:00:00.000Z',
  closesAt: '2026-11-13T11:00:00.000Z',
  state: 'open',
  rule: 'first_come',
  warmBeforeSeconds: 1800,
  ticketsBeforeSeconds: 120,
  challenge: 'off',
  items: [
    {
      id: '4711001337000002',
      sku: 'KTL-1',
      name: 'Kettle',
      price: { amount: 199900, currency: 'CNY' },
      listPrice: { amount: 299900, currency: 'CNY' },
      units: 100,
      left: 42,
      quantityMax: 1,
      attemptsMax: 3,
      payWithinSeconds: 900,
    },
  ],
  payment: [{ provider: 'sandbox', methods: [{ name: 'page', qr: false }] }],
}

export const OPERATOR_SALE = {
  ...SALE,
  items: SALE.items.map(item => ({ ...item, whenGateDown: 'ledger', door: 'gate' })),
}

export const ORDER = {
  id: '4711001337000100',
  sale: '4711001337000001',
  item: '4711001337000002',
  buyer: 'ada',
  attempt: 1,
  quantity: 1,
  amount: { amount: 199900, currency: 'CNY' },
  state: 'pending',
  reservedAt: '2026-11-13T10:00:00.012Z',
  placedAt: '2026-11-13T10:00:00.019Z',
  payBy: '2026-11-13T10:15:00.019Z',
}

export const CONTACT = { email: 'ada@example.com', address: '12 St James Square\nLondon' }

export const WHOLE_ORDER = {
  ...ORDER,
  payments: [
    {
      id: '4711001337000200',
      provider: 'sandbox',
      ref: '4711001337000200',
      amount: ORDER.amount,
      state: 'started',
      startedAt: '2026-11-13T10:00:05.000Z',
    },
  ],
  history: [
    { at: ORDER.reservedAt, what: 'reserved' },
    { at: ORDER.placedAt, what: 'placed' },
  ],
}

export const TICKET = {
  ticket: 't1.4711001337000002.ada.4711001337000001.1.1794564000000.1794567600000.kept.…',
  attempt: 1,
  notBefore: '2026-11-13T10:00:00.000Z',
  expiresAt: '2026-11-13T11:00:00.000Z',
}

export const NEW_SALE = {
  name: 'Friday',
  opensAt: '2026-11-13T10:00:00Z',
  closesAt: '2026-11-13T11:00:00Z',
  items: [{ name: 'Kettle', sku: 'KTL-1', price: { amount: 199900, currency: 'CNY' }, units: 100 }],
}

export const AUDIT = {
  item: '4711001337000002',
  units: 100,
  available: 42,
  pending: 10,
  paid: 48,
  closed: 3,
  gate: { left: 42, held: 58 },
  outbox: 0,
  releases: 0,
  moving: 0,
  door: 'gate',
  epoch: 1,
  consistent: true,
  violations: [],
}

export const AT = '2026-11-13T10:05:00.000Z'

export const STOCK_CHANGE = {
  no: 1,
  delta: 100,
  taken: 0,
  shortfall: 0,
  reason: 'a second pallet',
  by: 'admin',
  at: AT,
}

export const LOG_LINE = {
  id: '7',
  at: '2026-11-13T09:00:00.000Z',
  by: 'admin',
  action: 'sale.publish',
  sale: SALE.id,
  details: {},
}

export const WATCH = {
  at: AT,
  sale: OPERATOR_SALE,
  audit: [AUDIT],
  items: [],
  funnel: { since: AT, asked: 0, limited: 0, soldOut: 0, refused: 0, reserved: 0, placed: 0, paid: 0 },
  recent: [{ at: AT, requestsPerSecond: 4100.5, p50Ms: 0.4, p99Ms: 3.8, line: 12 }],
  reconciled: { at: AT, differences: 0, repairs: 0 },
  trouble: [],
}

export const IMAGE = `/images/${'9f86d081884c7d65'.repeat(4)}.jpg`
