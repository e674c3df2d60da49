import { expect, test } from 'bun:test'
import { readConfig } from '../config.ts'

const SECRET = 'shop-secret-of-the-tests-only-0123456789'
const PAY_URL = 'https://shop.example/pay?order={order}&token=of-the-shop'
const SHOP = { PAYMENT_PROVIDERS: 'shop', SHOP_PAYMENT_SECRET: SECRET }

test('the secrets are a list, the newest first, and neither they nor what is secret in the address is shown', () => {
  const config = readConfig({ ...SHOP, SHOP_PAYMENT_SECRET: `new-${SECRET}, ${SECRET}`, SHOP_PAY_URL: PAY_URL })
  expect(config.paymentAccounts).toEqual([
    { name: 'shop', kind: 'shop', settings: { PAYMENT_SECRET: [`new-${SECRET}`, SECRET], PAY_URL } },
  ])
  expect(JSON.stringify(config.shown)).not.toContain(SECRET)
  expect(JSON.stringify(config.shown)).not.toContain('of-the-shop')
  expect(readConfig(SHOP).paymentAccounts[0]).toMatchObject({ settings: { PAYMENT_SECRET: [SECRET] } })
})

test('a secret that is missing, short or one of too many, and an address that leads nowhere, stop the start with one line', () => {
  const start = (env: Record<string, string>) => () => readConfig({ ...SHOP, ...env })
  expect(start({ SHOP_PAYMENT_SECRET: '' })).toThrow(
    'PAYMENT_PROVIDERS names shop, which needs SHOP_PAYMENT_SECRET (or SHOP_PAYMENT_SECRET_FILE)',
  )
  expect(start({ SHOP_PAYMENT_SECRET: 'short' })).toThrow(/^SHOP_PAYMENT_SECRET: must have at least 32 characters/)
  expect(start({ SHOP_PAYMENT_SECRET: `${SECRET},` })).toThrow(/at least 32/)
  expect(start({ SHOP_PAYMENT_SECRET: Array(5).fill(SECRET).join(',') })).toThrow(/at most 4 secrets/)
  expect(start({ SHOP_PAY_URL: 'ftp://shop.example/{order}' })).toThrow(/^SHOP_PAY_URL: must be an http\(s\) address/)
  expect(start({ SHOP_PAY_URL: 'https://shop.example/{buyer}' })).toThrow(/^SHOP_PAY_URL: knows no \{buyer\}/)
  expect(() => readConfig({ ...SHOP, PAYMENT_PROVIDERS: 'shop.eu' })).toThrow('shop has no accounts: write shop')
})
