import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readCertificates, rootSerialOf, serialOf } from './alipay-certificates.ts'
import { openAlipayShop } from './alipay-shop.fixture.ts'
import { trustInCertificates } from './alipay-trust.ts'
import { rawMembers } from './raw-members.ts'
import { CERTIFICATES } from './test-data/made-up-keys.fixture.ts'
import { PUBLISHED_CERTIFICATES } from './test-data/published-vectors.fixture.ts'

const FORM = new Map([['content-type', 'application/x-www-form-urlencoded']])
const SILENT = { info: () => {}, error: () => {} }

test('certificates have the numbers that Alipay has published for them', () => {
  const { app, alipay, root } = PUBLISHED_CERTIFICATES
  expect(serialOf(readCertificates(app.pem)[0]!)).toBe(app.serial)
  expect(serialOf(readCertificates(alipay.pem)[0]!)).toBe(alipay.serial)
  expect(readCertificates(root.pem)).toHaveLength(4)
  expect(rootSerialOf(readCertificates(root.pem))).toBe(root.serial)
})

describe('a certificate that Alipay sends', () => {
  const trust = () =>
    trustInCertificates(
      {
        appCert: CERTIFICATES.appA,
        publicCert: CERTIFICATES.alipayA,
        rootCert: `${CERTIFICATES.rootOfAnotherKind}${CERTIFICATES.root}`,
      },
      Date.now,
      SILENT,
    )
  const accepts = (content: string, serial = serialOf(readCertificates(content)[0]!)) =>
    trust().accept(serial, content) !== undefined
  const { alipayA2, class1, class2, appB, forged, forgedRoot, root } = CERTIFICATES

  test('is accepted if it leads to the root', () => {
    expect(accepts(`${alipayA2}${class2}`)).toBe(true)
  })
  test('is refused without the way to the root, or under another number', () => {
    expect(accepts(alipayA2)).toBe(false)
    expect(accepts(`${alipayA2}${class2}`, '0'.repeat(32))).toBe(false)
    expect(trust().accept('0'.repeat(32), 'no certificate')).toBeUndefined()
  })
  test("is refused if it is that of a merchant's app, an authority, or of another authority with the same name", () => {
    expect(accepts(`${appB}${class1}`)).toBe(false)
    expect(accepts(`${appB}${class2}`)).toBe(false)
    expect(accepts(`${forged}${forgedRoot}`)).toBe(false)
    expect(accepts(`${forged}${class2}`)).toBe(false)
    expect(accepts(class2)).toBe(false)
    expect(accepts(root)).toBe(false)
  })
  test('is refused before and after its time', () => {
    for (const now of [0, Date.UTC(2200, 1, 1)]) {
      const texts = { appCert: CERTIFICATES.appA, publicCert: CERTIFICATES.alipayA, rootCert: root }
      const content = `${alipayA2}${class2}`
      const at = trustInCertificates(texts, () => now, SILENT)
      expect(at.accept(serialOf(readCertificates(content)[0]!), content)).toBeUndefined()
    }
  })
})

describe('Alipay changes its certificate in mid-sale', () => {
  let shop: Awaited<ReturnType<typeof openAlipayShop>>
  beforeEach(async () => {
    shop = await openAlipayShop('certificate')
  })
  afterEach(() => shop.close())
  const verify = (body: string) => shop.provider.verify(Buffer.from(body), FORM)

  test('answers with the new one are believed after one download, and notices of both are', async () => {
    const { payUrl } = await shop.start('r')
    await shop.server.approve(payUrl, 'lost')
    const trade = shop.server.trade('r')!
    const before = shop.server.noticeOf(trade)
    shop.server.rotate()
    expect(await shop.provider.query({ ref: 'r' }, shop.never)).toMatchObject({ state: 'captured' })
    expect(await verify(shop.server.noticeOf(trade))).toMatchObject({ kind: 'captured' })
    expect(await verify(shop.server.noticeOf(trade, {}, 'alipay_cert_sn'))).toMatchObject({ kind: 'captured' })
    // Sent before the change, and delivered after it.
    expect(await verify(before)).toMatchObject({ kind: 'captured' })
    expect(shop.server.downloads()).toBe(1)
    expect(shop.logged).toEqual(['new certificate of Alipay accepted'])
  })

  test('the first that comes with the new one is a notice: the certificate is fetched for it', async () => {
    const { payUrl } = await shop.start('r')
    await shop.server.approve(payUrl, 'lost')
    shop.server.rotate()
    expect(await verify(shop.server.noticeOf(shop.server.trade('r')!))).toMatchObject({ kind: 'captured' })
    expect(shop.server.downloads()).toBe(1)
  })

  test('a hundred answers at once with the new one: it is fetched once', async () => {
    shop.server.rotate()
    const asked = Array.from({ length: 100 }, (_, n) => shop.provider.query({ ref: `many${n}` }, shop.never))
    expect(await Promise.all(asked)).toEqual(asked.map(() => ({ state: 'unknown' })))
    expect(shop.server.downloads()).toBe(1)
  })

  test('a call does not wait for the certificate longer than its signal', async () => {
    shop.server.rotate()
    const arrived = Promise.withResolvers<void>()
    shop.server.trouble(async method => {
      if (!method.endsWith('alipaycert.download')) return false
      arrived.resolve()
      return true
    })
    const ended = new AbortController()
    const asked = shop.provider.query({ ref: 'any' }, ended.signal).catch((error: unknown) => error)
    await arrived.promise
    ended.abort()
    expect(await asked).toMatchObject({ code: 'payment_unreachable', retryable: true })
  })

  test('one that Alipay did not have at first is asked for again after ten minutes', async () => {
    const { payUrl } = await shop.start('r')
    await shop.server.approve(payUrl, 'lost')
    shop.server.rotate()
    const notice = () => shop.server.noticeOf(shop.server.trade('r')!)
    const no = shop.server.answerText('alipay.open.app.alipaycert.download', { code: '40004', sub_code: 'NOT_YET' })
    shop.server.trouble((_, response) => Boolean(response.writeHead(200).end(no)))
    expect(await verify(notice())).toBeUndefined()
    shop.server.trouble(undefined)
    expect(await verify(notice())).toBeUndefined()
    shop.shiftClock(601_000)
    shop.server.shiftClock(601_000)
    expect(await verify(notice())).toMatchObject({ kind: 'captured' })
  })

  test('while the certificate can’t be fetched a notice is a fault to be tried again, not a forgery', async () => {
    const { payUrl } = await shop.start('r')
    await shop.server.approve(payUrl, 'lost')
    shop.server.rotate()
    const notice = shop.server.noticeOf(shop.server.trade('r')!)
    shop.server.trouble((_, response) => {
      response.writeHead(503).end()
      return true
    })
    await expect(verify(notice)).rejects.toMatchObject({ code: 'payment_unreachable', retryable: true })
    shop.server.trouble(undefined)
    expect(await verify(notice)).toMatchObject({ kind: 'captured' })
  })

  test('forged numbers cost a bounded number of downloads', async () => {
    const { payUrl } = await shop.start('r')
    await shop.server.approve(payUrl, 'lost')
    const trade = shop.server.trade('r')!
    const numberOf = (n: number) => n.toString(16).padStart(32, '0')
    const forged = (n: number) => verify(shop.server.noticeOf(trade, { alipay_cert_sn: numberOf(n) }))
    for (let n = 0; n < 64; n++) expect(await forged(n)).toBeUndefined()
    // What Alipay does not know stays forged; what it can't be asked about now may be genuine.
    expect(await forged(0)).toBeUndefined()
    for (let n = 64; n < 150; n++) await expect(forged(n)).rejects.toMatchObject({ retryable: true })
    expect(shop.server.downloads()).toBe(64)
    expect(await verify(shop.server.noticeOf(trade, { alipay_cert_sn: 'no number' }))).toBeUndefined()
    expect(await verify(shop.server.noticeOf(trade))).toBeDefined()
    // They do not keep our own calls from a certificate that Alipay changes meanwhile, nor the notices that follow.
    shop.server.rotate()
    expect(await shop.provider.query({ ref: 'r' }, shop.never)).toMatchObject({ state: 'captured' })
    expect(await verify(shop.server.noticeOf(trade))).toBeDefined()
  })

  test('a notice with a new certificate in a flood of forged ones is to be sent again, not a forgery', async () => {
    const { payUrl } = await shop.start('r')
    await shop.server.approve(payUrl, 'lost')
    const trade = shop.server.trade('r')!
    for (let n = 0; n < 64; n++)
      await verify(shop.server.noticeOf(trade, { alipay_cert_sn: n.toString(16).padStart(32, '0') }))
    shop.server.rotate()
    const notice = () => verify(shop.server.noticeOf(trade))
    await expect(notice()).rejects.toMatchObject({ code: 'payment_unreachable', retryable: true })
    // Ten minutes later numbers are asked for again.
    shop.shiftClock(601_000)
    shop.server.shiftClock(601_000)
    expect(await notice()).toBeDefined()
  })
})

test('members of an answer are taken as they stand', () => {
  const text = ' {"a" : {"x":"}\\"{,[" , "y":[1,{"z":"]"}]} ,"sign":"q\\/r", "n":-1.50e2,"t":true,"e":{}} '
  expect([...rawMembers(text)!]).toEqual([
    ['a', '{"x":"}\\"{,[" , "y":[1,{"z":"]"}]}'],
    ['sign', '"q\\/r"'],
    ['n', '-1.50e2'],
    ['t', 'true'],
    ['e', '{}'],
  ])
  expect([...rawMembers('{}')!]).toEqual([])
  for (const bad of ['', '[]', 'null', '{"a":1', '{"a":1,"a":2}', '{"a":1}{"b":2}', '{"sign":"x","\\u0073ign":"y"}'])
    expect(rawMembers(bad)).toBeUndefined()
})
