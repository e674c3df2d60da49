import { expect, test } from 'bun:test'
import { payChoices } from './pay-choices.ts'

const method = (name: string, qr = false) => ({ name, qr })
const ALIPAY = { provider: 'alipay', methods: [method('page'), method('wap'), method('qr', true)] }
const WECHAT = { provider: 'wechat', methods: [method('native', true), method('jsapi'), method('h5')] }
const STRIPE = { provider: 'stripe.eu', methods: [method('checkout'), method('intent')] }

const shown = (offered: Parameters<typeof payChoices>[0], phone: boolean) =>
  payChoices(offered, phone).map(choice => `${choice.provider} ${choice.method}`)

test('offers in the sale’s own order what suits a desk, and nothing that needs the shop’s own form or the provider’s app', () => {
  expect(shown([WECHAT, STRIPE, ALIPAY], false)).toEqual([
    'wechat native',
    'stripe.eu checkout',
    'alipay page',
    'alipay qr',
  ])
})

test('opens the app on a phone instead of showing a code that the same phone would have to scan', () => {
  expect(shown([WECHAT, STRIPE, ALIPAY], true)).toEqual(['wechat h5', 'stripe.eu checkout', 'alipay wap'])
})

test('keeps a provider none of whose methods suits the device', () => {
  expect(shown([{ provider: 'wechat', methods: [method('native', true)] }], true)).toEqual(['wechat native'])
  expect(shown([{ provider: 'alipay.hk', methods: [method('wap')] }], false)).toEqual(['alipay.hk wap'])
  expect(shown([{ provider: 'wechat', methods: [method('jsapi')] }], true)).toEqual([])
})
