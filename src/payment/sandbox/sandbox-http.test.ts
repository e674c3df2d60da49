import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { openSandboxShop, type SandboxShop } from './sandbox-shop.fixture.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', acceptLanguage: 'en-GB,en;q=0.9' }
const CHINESE = { ...BROWSER, acceptLanguage: 'zh-CN,zh;q=0.9,en;q=0.8' }
const MACHINE = { accept: 'application/json' }

let shop: SandboxShop
let made = 0
beforeAll(async () => {
  shop = await openSandboxShop()
})
afterAll(() => shop.close())

const begin = (more: Parameters<SandboxShop['start']>[1] = {}) => shop.start(String(++made), more)

describe('the pay page', () => {
  test('shows amount, purpose and deadline, and two forms that work without a script', async () => {
    const payUrl = await begin({ description: 'Phone, 2 pieces', payByMs: Date.UTC(2030, 0, 2, 3, 4, 5) })
    const { status, headers, body } = await shop.ask('GET', payUrl, BROWSER)
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body).toContain('CN¥1,999.00')
    expect(body).toContain('Phone, 2 pieces')
    expect(body).toContain('2030-01-02 03:04:05 UTC')
    expect(body).toContain('name="viewport"')
    const actions = [...body.matchAll(/<form method="post" action="([^"]+)">/g)].map(match => match[1]!)
    const targets = actions.map(action => new URL(action, payUrl).href)
    expect(targets).toEqual([`${payUrl}/approve`, `${payUrl}/decline`])
  })

  test('speaks English or Chinese, whichever the reader likes better', async () => {
    const payUrl = await begin()
    const languages: [string | undefined, string][] = [
      ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
      ['en,zh', 'en'],
      ['zh,en', 'zh-CN'],
      ['fr, en;q=0.2, zh-TW;q=0.3', 'zh-CN'],
      ['fr', 'en'],
      ['zh;q=0', 'en'],
      ['', 'en'],
      [undefined, 'en'],
    ]
    for (const [acceptLanguage, expected] of languages) {
      const wish = acceptLanguage === undefined ? {} : { acceptLanguage }
      const { body } = await shop.ask('GET', payUrl, { accept: 'text/html', ...wish })
      expect(body).toContain(`<html lang="${expected}">`)
      expect(body).toContain(expected === 'en' ? '>Approve</button>' : '>同意支付</button>')
      expect(body).toContain(expected === 'en' ? 'no money moves' : '不会发生真实扣款')
    }
  })

  test('shows minor units as the currency has them', async () => {
    const amounts = [
      { amount: 1999, currency: 'JPY', shown: '¥1,999<' },
      { amount: 1999, currency: 'EUR', shown: '€19.99<' },
      { amount: 1999, currency: 'KWD', shown: '1.999<' },
    ]
    for (const { shown, ...amount } of amounts)
      expect((await shop.ask('GET', await begin({ amount }), BROWSER)).body).toContain(shown)
  })

  test('shows a description as text, whatever is in it', async () => {
    const evil = `<script>alert(1)</script><img src=x onerror="alert(2)">'&amp;`
    const payUrl = await begin({ description: evil, returnUrl: `https://shop.example/?a="'<script>` })
    for (const url of [payUrl, `${payUrl}/approve`]) {
      const { body } = await shop.ask('GET', url, BROWSER)
      expect(body).not.toContain('<script>alert')
      expect(body).not.toContain('<img')
    }
    expect((await shop.ask('GET', payUrl, BROWSER)).body).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(2)&quot;&gt;&#39;&amp;amp;',
    )
    await shop.post(`${payUrl}/approve?mode=lost`)
    const { body } = await shop.ask('GET', payUrl, BROWSER)
    expect(body).not.toContain('<script>alert')
    expect(body).toContain('href="https://shop.example/?a=%22')
  })

  test('may load nothing but its own style and the script for times, and lead nowhere but back to the shop', async () => {
    const payUrl = await begin({ returnUrl: 'https://other.example:8443/x' })
    const { headers, body } = await shop.ask('GET', payUrl, BROWSER)
    const style = /<style>([\s\S]*)<\/style>/.exec(body)![1]!
    const script = /<script>([\s\S]*)<\/script>/.exec(body)![1]!
    const [hash, scriptHash] = [style, script].map(text => createHash('sha256').update(text).digest('base64'))
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; script-src 'sha256-${scriptHash}'; form-action 'self' https://other.example:8443; ` +
        `base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(body.split('<script')).toHaveLength(2)
    expect(body).not.toMatch(/\son\w+=|style=|javascript:/i)
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    expect(headers['x-content-type-options']).toBe('nosniff')
    const plain = await shop.ask('GET', await begin({ returnUrl: '/orders/1' }), BROWSER)
    expect(plain.headers['content-security-policy']).toContain("form-action 'self';")
  })

  test('says what came of it once that is known, and offers nothing to press', async () => {
    const [paid, declined, refunded] = [await begin(), await begin(), await begin()]
    await shop.post(`${paid}/approve?mode=lost`)
    await shop.post(`${declined}/decline`)
    await shop.post(`${refunded}/approve?mode=lost`)
    await shop.refund(String(made))
    const said = [
      [paid, 'Paid', '已支付'],
      [declined, 'Not paid: declined or cancelled', '未支付：已拒绝或已取消'],
      [refunded, 'Paid, and given back', '已支付并已退款'],
    ] as const
    for (const [payUrl, english, chinese] of said) {
      const pages = [await shop.ask('GET', payUrl, BROWSER), await shop.ask('GET', payUrl, CHINESE)]
      expect(pages[0]!.body).toContain(`<strong>${english}</strong>`)
      expect(pages[1]!.body).toContain(`<strong>${chinese}</strong>`)
      for (const { body } of pages) expect(body).not.toContain('<form')
    }
  })
})

describe('a buyer in a browser', () => {
  test('is sent back to the shop after deciding, by GET', async () => {
    for (const [returnUrl, expected] of [
      ['https://shop.example/orders/1', 'https://shop.example/orders/1'],
      ['/orders/1', '/orders/1'],
    ] as const) {
      for (const action of ['approve', 'decline']) {
        const { status, headers } = await shop.ask('POST', `${await begin({ returnUrl })}/${action}`, BROWSER)
        expect([status, headers.location]).toEqual([303, expected])
      }
    }
  })

  test('sees the result where there is no way back, or none that may be taken', async () => {
    for (const returnUrl of [undefined, 'javascript:alert(1)', '//elsewhere.example', 'data:text/html,x']) {
      const payUrl = await begin({ returnUrl })
      const { status, headers, body } = await shop.ask('POST', `${payUrl}/approve`, BROWSER)
      expect([status, headers.location]).toEqual([200, undefined])
      expect(body).toContain('<strong>Paid</strong>')
      expect(body).not.toContain('class="back"')
      const late = await shop.ask('POST', `${payUrl}/decline`, BROWSER)
      expect(late.status).toBe(409)
      expect(late.body).toContain('<strong>Paid</strong>')
    }
  })
})

describe('a machine', () => {
  test('decides by POST and reads the state, the same again when it decides again', async () => {
    const [paid, declined] = [await begin(), await begin()]
    for (const headers of [MACHINE, {}, { accept: '*/*' }, MACHINE]) {
      const yes = await shop.ask('POST', `${paid}/approve`, headers)
      expect([yes.status, yes.headers['content-type'], yes.body]).toEqual([
        200,
        'application/json',
        '{"state":"captured"}',
      ])
      const no = await shop.ask('POST', `${declined}/decline`, headers)
      expect([no.status, no.body]).toEqual([200, '{"state":"void"}'])
    }
    expect((await shop.ask('GET', paid, MACHINE)).body).toBe('{"state":"captured"}')
  })

  test('is refused when it decides otherwise than before', async () => {
    const [paid, declined, refunded] = [await begin(), await begin(), await begin()]
    await shop.post(`${paid}/approve`)
    await shop.post(`${declined}/decline`)
    await shop.post(`${refunded}/approve`)
    await shop.refund(String(made))
    const answers = [`${paid}/decline`, `${declined}/approve`, `${refunded}/approve`, `${refunded}/decline`].map(
      shop.post,
    )
    for (const [n, state] of ['captured', 'void', 'refunded', 'refunded'].entries()) {
      const { status, headers, body } = (await answers[n])!
      expect([status, headers['content-type']]).toEqual([409, 'application/problem+json'])
      expect(JSON.parse(body)).toMatchObject({ code: 'payment_settled', status: 409, state })
    }
  })

  test('is told what it asked for wrongly, and nothing happens', async () => {
    const payUrl = await begin()
    for (const mode of [
      '',
      'never',
      'late',
      'late:',
      'late:-1',
      'late:600001',
      'late:1e3',
      'double,lost',
      'toString',
    ]) {
      const { status, body } = await shop.post(`${payUrl}/approve?mode=${mode}`)
      expect([mode, status, JSON.parse(body).code]).toEqual([mode, 400, 'body_invalid'])
    }
    for (const ms of ['', '-1', '1.5', '600001', 'x'])
      expect((await shop.post(`${payUrl}/hide?ms=${ms}`)).status).toBe(400)
    expect(await shop.query(String(made))).toEqual({ state: 'open' })
  })

  test('can not decide by GET, nor ask for a page by POST', async () => {
    const payUrl = await begin()
    for (const action of ['approve', 'decline', 'hide']) {
      const { status, headers } = await shop.ask('GET', `${payUrl}/${action}`, MACHINE)
      expect([status, headers.allow]).toEqual([405, 'POST'])
    }
    const { status, headers } = await shop.ask('POST', payUrl, MACHINE)
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
    expect(await shop.query(String(made))).toEqual({ state: 'open' })
  })
})

test('a payment is found only by its whole address', async () => {
  const payUrl = await begin()
  const [other, ref] = [await begin(), String(made - 1)]
  const base = payUrl.slice(0, payUrl.lastIndexOf('/') + 1)
  const mac = payUrl.slice(payUrl.lastIndexOf('-') + 1)
  const otherMac = other.slice(other.lastIndexOf('-') + 1)
  const wrong = `${mac.slice(0, -1)}${mac.endsWith('0') ? '1' : '0'}`
  for (const address of [
    base,
    `${base}${ref}`,
    `${base}${ref}-`,
    `${base}${ref}-${otherMac}`,
    `${base}${ref}-${wrong}`,
    `${base}-${mac}`,
    `${payUrl}0`,
    `${payUrl}/`,
    `${payUrl}/approve/`,
    `${payUrl}/approve/x`,
    `${payUrl}/refund`,
    `${base}${shop.keys.tokenOf('999999')}`,
    payUrl.replace('/sandbox/pay/', '/sandbox/xxx/'),
  ]) {
    for (const method of ['GET', 'POST']) {
      const answer = await shop.ask(method, address, MACHINE)
      expect([address, answer.status, JSON.parse(answer.body).code]).toEqual([address, 404, 'not_found'])
    }
  }
  const page = await shop.ask('GET', base, CHINESE)
  expect([page.status, page.body.includes('没有这笔支付')]).toEqual([404, true])
  expect(await shop.query(ref)).toEqual({ state: 'open' })
})
