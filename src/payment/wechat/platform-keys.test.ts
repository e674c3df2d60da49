/** Which keys of WeChat Pay are trusted: certificates that rotate, public keys, and serial numbers that a forger makes up. */

import { afterEach, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { openWechatShop, type WechatShop } from './wechat-shop.fixture.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const shops: WechatShop[] = []
afterEach(async () => {
  for (const shop of shops.splice(0)) await shop.close()
})
async function open(...options: Parameters<typeof openWechatShop>): Promise<WechatShop> {
  const shop = await openWechatShop(...options)
  shops.push(shop)
  return shop
}
const verify = (
  shop: WechatShop,
  { rawBody, headers }: { rawBody: Uint8Array; headers: ReadonlyMap<string, string> },
) => shop.provider.verify(rawBody, headers)

test('a certificate that is rotated in mid-sale costs one download, and the one before stays good', async () => {
  const shop = await open()
  const { trade } = await shop.paid()
  const before = shop.server.notice(trade)
  expect(shop.downloads()).toBe(1)
  shop.passTime(MINUTE_MS)
  shop.server.signer.addCertificate()
  const after = [1, 2, 3].map(() => shop.server.notice(trade))
  const told = await Promise.all(after.map(sent => verify(shop, sent)))
  expect(told.every(event => event?.kind === 'captured')).toBe(true)
  expect(await verify(shop, before)).toBeDefined()
  // Answers are signed with it too.
  expect((await shop.start()).payUrl).toStartWith('weixin://')
  expect(shop.downloads()).toBe(2)
})

test('a rotation that an answer shows is found within a second, also right after a download', async () => {
  const shop = await open()
  const { trade } = await shop.paid()
  shop.server.signer.addCertificate()
  expect(await verify(shop, shop.server.notice(trade))).toBeUndefined()
  expect(shop.downloads()).toBe(1)
  shop.passTime(1_000)
  expect((await shop.start()).payUrl).toStartWith('weixin://')
  expect(await verify(shop, shop.server.notice(trade))).toBeDefined()
  expect(shop.downloads()).toBe(2)
})

test('serial numbers that a forger makes up cause one download a minute, however many they are', async () => {
  const shop = await open()
  const { trade } = await shop.paid()
  const forged = () => {
    const { rawBody, headers } = shop.server.notice(trade)
    return { rawBody, headers: new Map([...headers, ['wechatpay-serial', randomBytes(20).toString('hex')]]) }
  }
  for (let minute = 0; minute < 3; minute++) {
    shop.passTime(MINUTE_MS)
    for (let n = 0; n < 20; n++) expect(await verify(shop, forged())).toBeUndefined()
    expect(shop.downloads()).toBe(2 + minute)
  }
})

test('while certificates can not be downloaded a callback is not judged, and works afterwards', async () => {
  const shop = await open()
  const { trade } = await shop.paid()
  shop.passTime(MINUTE_MS)
  shop.server.signer.addCertificate()
  const sent = shop.server.notice(trade)
  for (const trouble of [{ status: 500, body: '' }, { status: 200, body: '{"data":[]}' }, 'reset'] as const) {
    shop.server.misbehave = (_, path) => (path === '/v3/certificates' ? trouble : undefined)
    for (let n = 0; n < 3; n++)
      expect(await verify(shop, sent).catch(error => error)).toMatchObject({
        code: 'payment_unreachable',
        retryable: true,
      })
    shop.passTime(5_000)
  }
  // A connection that is reset is tried again by `fetch` itself.
  expect(shop.downloads()).toBeWithin(4, 6)
  shop.server.misbehave = () => undefined
  expect(await verify(shop, sent)).toBeDefined()
})

test('a list that our API v3 key does not decrypt is not believed, and the fault says so', async () => {
  const shop = await open('certificate', { apiV3Key: 'x'.repeat(32) })
  const fault = await shop.start().catch(error => error)
  expect(fault).toMatchObject({ code: 'payment_unreachable', retryable: true })
  expect(fault.message).toContain('WECHAT_API_V3_KEY')
})

test('a list that is signed by none of its certificates is not believed', async () => {
  const shop = await open()
  const other = await open()
  shop.server.tamper = headers => {
    for (const [name, value] of other.server.signer.sign('x').headers) headers.set(name, value)
  }
  expect(await shop.start().catch(error => error.message)).toContain('not signed by one of them')
  shop.passTime(5_000)
  shop.server.tamper = headers => void headers.set('wechatpay-nonce', 'other')
  expect(await shop.start().catch(error => error.message)).toContain('not signed by one of them')
})

test('an expired certificate is not accepted, nor one that is not valid yet', async () => {
  const nowMs = Date.now()
  for (const validMs of [
    { from: nowMs - 9 * DAY_MS, until: nowMs - DAY_MS },
    { from: nowMs + DAY_MS, until: nowMs + 9 * DAY_MS },
  ]) {
    const shop = await open()
    const { trade } = await shop.paid()
    shop.passTime(MINUTE_MS)
    shop.server.signer.addCertificate(validMs)
    expect(await verify(shop, shop.server.notice(trade))).toBeUndefined()
  }
})

test('a certificate that was withdrawn is no longer accepted after half a day', async () => {
  const shop = await open()
  const { trade } = await shop.paid()
  const withdrawn = shop.server.signer.certificates[0]!
  const sent = shop.server.notice(trade)
  shop.server.signer.addCertificate()
  shop.server.signer.certificates.shift()
  expect(withdrawn.serial).not.toBe(shop.server.signer.certificates[0]!.serial)
  expect(await verify(shop, sent)).toBeDefined()
  shop.passTime(DAY_MS)
  expect(await verify(shop, sent)).toBeUndefined()
})

test('with a public key no certificate is downloaded, until a callback is signed with one', async () => {
  const shop = await open('public key')
  const { trade, ref } = await shop.paid()
  expect(await verify(shop, shop.server.notice(trade))).toBeDefined()
  expect(await shop.query(ref)).toMatchObject({ state: 'captured' })
  expect(shop.downloads()).toBe(0)
  // While WeChat Pay changes over, it signs some callbacks the old way.
  shop.server.signer.signsWith = 'certificate'
  expect(await verify(shop, shop.server.notice(trade))).toBeDefined()
  expect(shop.downloads()).toBe(1)
})

test('an account that has only public keys has no list: certificates are forged there', async () => {
  const shop = await open('public key')
  const { trade } = await shop.paid()
  const missing = { status: 404, body: '{"code":"RESOURCE_NOT_EXISTS"}' }
  shop.server.misbehave = (_, path) => (path === '/v3/certificates' ? missing : undefined)
  shop.server.signer.signsWith = 'certificate'
  expect(await verify(shop, shop.server.notice(trade))).toBeUndefined()
})

test('a public key that is not configured is forged, and nothing is downloaded for it', async () => {
  const shop = await open('public key', { withoutKeys: true })
  const { trade } = await shop.paid()
  const downloads = shop.downloads()
  shop.passTime(MINUTE_MS)
  expect(await verify(shop, shop.server.notice(trade))).toBeUndefined()
  expect(shop.downloads()).toBe(downloads)
})
