/**
 * Alipay's side in the tests: a local server that speaks the gateway's protocol as its documents state it, with the buyers who pay there. All
 * requests are checked with Alipay's own client, and that client accepts every answer and notice before it is sent, so both sides of our code
 * are judged by code that is not ours. In certificate mode it can change its certificate.
 */

import { createPublicKey, randomBytes, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AlipaySdk } from 'alipay-sdk'
import { assert } from '../../base/assert.ts'
import { systemClock } from '../../base/clock.ts'
import type { LocalProvider } from '../contract/local-provider.ts'
import { AlipayBooks, noticeFields, type Offer, offerOf, refundedOf, type Trade } from './alipay-books.fixture.ts'
import { toBeijing } from './beijing-time.ts'
import { CERTIFICATES, KEYS } from './test-data/made-up-keys.fixture.ts'

type Fields = Record<string, string>
/** How a call is troubled; undefined: not at all. */
type Trouble = (method: string, response: ServerResponse) => boolean | Promise<boolean>

const ACCOUNTS = {
  A: { appId: '2021000000000001', sellerId: '2088000000000001', app: 'appA', alipay: 'alipayA' },
  B: { appId: '2021000000000002', sellerId: '2088000000000002', app: 'appB', alipay: 'alipayB' },
} as const
const NOTICES_MAX = 8
const NOTICE_AGAIN_MS = 200
const ROOTS = `${CERTIFICATES.rootOfAnotherKind}${CERTIFICATES.root}`

const publicOf = (privatePem: string) =>
  createPublicKey(privatePem).export({ type: 'spki', format: 'pem' }).toString().trim()
const sorted = (fields: Fields) =>
  Object.keys(fields)
    .sort()
    .map(name => `${name}=${fields[name]}`)
    .join('&')

export async function openAlipayServer(mode: 'key' | 'certificate', account: keyof typeof ACCOUNTS = 'A') {
  const { appId, sellerId, app, alipay } = ACCOUNTS[account]
  const inCertificates = mode === 'certificate'
  let shiftMs = 0
  const now = () => systemClock.now() + shiftMs
  const books = new AlipayBooks(now)
  const codes = new Map<string, Offer>()
  const held = new Map<string, PromiseWithResolvers<void>>()
  const pages = new Map<string, string>()
  const ending = new AbortController()
  let trouble: Trouble | undefined
  let modeOfNotices: 'send' | 'lose' = 'send'
  let downloads = 0
  let signer: 'alipayA' | 'alipayA2' | 'alipayB' = alipay

  /** The vendor's client with the app's public key in Alipay's place: it checks what we sign. */
  const requests = new AlipaySdk({
    appId,
    privateKey: KEYS[app].trim(),
    keyType: 'PKCS8',
    alipayPublicKey: publicOf(KEYS[app]),
  })
  /** The vendor's client as a shop would use it: it accepts what this server signs. */
  const shopOf = () =>
    new AlipaySdk({
      appId,
      privateKey: KEYS[app].trim(),
      keyType: 'PKCS8',
      ...(inCertificates
        ? {
            appCertContent: CERTIFICATES[app],
            alipayPublicCertContent: CERTIFICATES[signer],
            alipayRootCertContent: ROOTS,
          }
        : { alipayPublicKey: publicOf(KEYS[signer]) }),
    })
  let shop = shopOf()

  const signText = (text: string) => sign('sha256', Buffer.from(text), KEYS[signer]).toString('base64')

  function answerText(method: string, body: Readonly<Record<string, unknown>>, isSigned = true): string {
    const name = `${method.replaceAll('.', '_')}_response`
    // As Alipay writes it: with escaped slashes, which a parsed and rewritten answer would not have.
    const text = JSON.stringify(body).replaceAll('/', '\\/')
    if (!isSigned) return `{"${name}":${text}}`
    const signature = signText(text)
    const serial = inCertificates ? `"alipay_cert_sn":"${shop.config.alipayCertSn}",` : ''
    const whole = `{"${name}":${text},${serial}"sign":"${signature}"}`
    shop.checkResponseSign(whole, name, signature, '')
    return whole
  }

  /** A notice about the trade as it is now; `changes` are signed too. */
  function noticeOf(trade: Trade, changes: Fields = {}, without?: string): string {
    const fields: Fields = {
      ...noticeFields(trade),
      app_id: appId,
      auth_app_id: appId,
      seller_id: sellerId,
      notify_id: randomBytes(17).toString('hex'),
      notify_time: toBeijing(now()),
      ...(inCertificates && { alipay_cert_sn: shop.config.alipayCertSn }),
      ...changes,
    }
    if (without !== undefined) delete fields[without]
    const signed = { ...fields, sign: signText(sorted(fields)), sign_type: 'RSA2' }
    assert(shop.checkNotifySignV2(signed), "Alipay's own client does not accept the notice")
    return new URLSearchParams(signed).toString()
  }

  const deliver = async (url: string, body: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    const answer = await fetch(url, { method: 'POST', body, headers, signal: ending.signal }).catch(() => undefined)
    return answer?.status === 200 && (await answer.text().catch(() => '')) === 'success'
  }
  /** Until it is acknowledged: the same notify_id, sent anew. Alipay's waits of minutes and hours are made short. */
  const notify = async (trade: Trade) => {
    const fields = { notify_id: randomBytes(17).toString('hex'), trade_status: trade.status }
    for (let sent = 0; sent < NOTICES_MAX && !ending.signal.aborted; sent++) {
      if (await deliver(trade.notifyUrl, noticeOf(trade, fields))) return
      await systemClock.sleep(NOTICE_AGAIN_MS * 2 ** sent, ending.signal)
    }
  }
  books.onChange = trade => {
    if (modeOfNotices === 'send') void notify(trade)
  }

  function isGenuine({ sign: signature = '', ...fields }: Fields): boolean {
    if (!requests.rsaCheck(sorted(fields), signature)) return false
    const { appCertSn, alipayRootCertSn } = shop.config
    return !inCertificates || (fields.app_cert_sn === appCertSn && fields.alipay_root_cert_sn === alipayRootCertSn)
  }

  async function answerCall(fields: Fields, response: ServerResponse) {
    const { method = '' } = fields
    const content = JSON.parse(fields.biz_content || '{}') as Fields
    await held.get(content.out_trade_no ?? '')?.promise
    if (await trouble?.(method, response)) return
    const say = (text: string) => response.writeHead(200, { 'content-type': 'text/html;charset=utf-8' }).end(text)
    const refuse = (subCode: string) =>
      say(answerText(method, { code: '40002', msg: 'Invalid Arguments', sub_code: subCode }, false))
    if (fields.app_id !== appId) return refuse('isv.invalid-app-id')
    if (!isGenuine(fields)) return refuse('isv.invalid-signature')
    if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(fields.timestamp ?? '')) return refuse('isv.invalid-timestamp')
    if (method === 'alipay.open.app.alipaycert.download') {
      downloads += 1
      const isKnown = content.alipay_cert_sn === shop.config.alipayCertSn
      const file = Buffer.from(`${CERTIFICATES[signer]}${CERTIFICATES.class2}`).toString('base64')
      const found = { code: '10000', msg: 'Success', alipay_cert_content: file }
      return say(
        answerText(method, isKnown ? found : { code: '40004', msg: 'Business Failed', sub_code: 'CERT_NOT_EXIST' }),
      )
    }
    const offer = offerOf(content, fields)
    let body = books.answer(method, content, offer)
    if (method === 'alipay.trade.precreate' && body.code === '10000') {
      const code = `${url}/qr/${randomBytes(12).toString('hex')}`
      codes.set(code, offer)
      body = { ...body, qr_code: code }
    }
    say(answerText(method, body))
  }

  /** What a page or a code offers. Undefined: Alipay shows an error instead. */
  function offerAt(payUrl: string): Offer | undefined {
    const scanned = codes.get(payUrl)
    if (scanned !== undefined) return scanned
    const fields = Object.fromEntries(new URL(payUrl).searchParams)
    const known = ['alipay.trade.page.pay', 'alipay.trade.wap.pay'].includes(fields.method ?? '')
    if (!known || fields.app_id !== appId || !isGenuine(fields)) return undefined
    return offerOf(JSON.parse(fields.biz_content ?? '{}') as Fields, fields)
  }

  /** The buyer opens the page or scans the code, and does nothing else. */
  const visit = (payUrl: string): Trade | undefined => {
    const offer = offerAt(payUrl)
    return offer && books.open(offer)
  }

  async function approve(payUrl: string, callback: Parameters<LocalProvider['approve']>[1] = 'plain') {
    const trade = visit(payUrl)
    if (trade === undefined) return 'refused'
    modeOfNotices = callback === 'plain' ? 'send' : 'lose'
    const isPaid = books.pay(trade.ref)
    modeOfNotices = 'send'
    if (!isPaid) return 'refused'
    if (callback === 'double') await Promise.all([1, 2].map(() => deliver(trade.notifyUrl, noticeOf(trade))))
    if (typeof callback === 'object') void systemClock.sleep(callback.lateMs, ending.signal).then(() => notify(trade))
    return 'captured'
  }

  /** Where a browser is: the page, or what its two buttons do. */
  async function showPage(request: IncomingMessage, response: ServerResponse) {
    const [, token, decision] = /^\/cashier\/(\w+)\/(approve|decline)$/.exec(request.url ?? '') ?? []
    const payUrl = token === undefined ? `${url}${request.url}` : (pages.get(token) ?? '')
    const html = (text: string) => response.writeHead(200, { 'content-type': 'text/html;charset=utf-8' }).end(text)
    if (decision !== undefined && request.method === 'POST') {
      if (decision === 'approve') await approve(payUrl)
      const back = offerAt(payUrl)?.returnUrl
      return back === undefined ? html('<p>Done') : response.writeHead(303, { location: back }).end()
    }
    const trade = URL.canParse(payUrl) ? visit(payUrl) : undefined
    if (trade === undefined) return html('<p>This payment can not be made')
    const page = randomBytes(9).toString('hex')
    pages.set(page, payUrl)
    const button = (what: string) => `<form method=post action=/cashier/${page}/${what}><button>${what}</button></form>`
    return html(`<title>Alipay</title><p>${trade.ref}</p>${button('approve')}${button('decline')}`)
  }

  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (request.method === 'POST' && request.url?.startsWith('/gateway.do')) {
      const query = new URL(request.url, url).searchParams
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      await answerCall(Object.fromEntries([...query, ...form]), response)
    } else await showPage(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const local: LocalProvider = {
    name: 'alipay',
    settings: {
      ALIPAY_APP_ID: appId,
      ALIPAY_SELLER_ID: sellerId,
      ALIPAY_PRIVATE_KEY: KEYS[app],
      ALIPAY_GATEWAY: `${url}/gateway.do`,
      ...(inCertificates
        ? {
            ALIPAY_APP_CERT: CERTIFICATES[app],
            ALIPAY_PUBLIC_CERT: `${CERTIFICATES[alipay]}${CERTIFICATES.class2}`,
            ALIPAY_ROOT_CERT: ROOTS,
          }
        : { ALIPAY_PUBLIC_KEY: publicOf(KEYS[alipay]) }),
    },
    approve,
    // The bank's "no" is shown to the buyer alone: the trade stays open, and no notice is sent.
    decline: async payUrl => void visit(payUrl),
    books: () => books.books(),
    async close() {
      ending.abort()
      for (const ref of [...held.keys()]) held.get(ref)!.resolve()
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
  return {
    ...local,
    now,
    visit,
    noticeOf,
    answerText,
    trade: (ref: string) => books.trades.get(ref),
    /** The trade of a page or a code, once it is there. */
    tradeAt: (payUrl: string) => books.trades.get(offerAt(payUrl)?.ref ?? ''),
    givenBack: (ref: string) => (books.trades.has(ref) ? refundedOf(books.trades.get(ref)!) : 0),
    shop: () => shop,
    downloads: () => downloads,
    cutOff: (ref: string) => void held.set(ref, Promise.withResolvers()),
    reconnect(ref: string) {
      held.get(ref)?.resolve()
      held.delete(ref)
    },
    trouble(next: Trouble | undefined) {
      trouble = next
    },
    /** Alipay's own clock, by which pages expire. */
    shiftClock(ms: number) {
      shiftMs += ms
    },
    /** From now on Alipay signs with another certificate. */
    rotate() {
      signer = 'alipayA2'
      shop = shopOf()
    },
  }
}
