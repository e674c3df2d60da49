/**
 * For tests: a local server that speaks WeChat Pay's API v3 as its documents state it. Requests are checked, answers and callbacks signed and
 * encrypted by code that is not ours (`wechat-signer.fixture.ts`). A test can make it hang, fail, lie, and rotate its certificates.
 */

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Formatter, Rsa } from 'wechatpay-axios-plugin'
import { systemClock } from '../../base/clock.ts'
import type { LocalProvider } from '../contract/local-provider.ts'
import { type Answer, beijing, type ServerRefund, type ServerTrade, WechatBooks } from './wechat-books.fixture.ts'
import { rsaPair, WechatSigner } from './wechat-signer.fixture.ts'

/** hang: never answered. cut: half an answer, then nothing. reset: the connection is closed. Else the answer, as it is. */
type Misbehaviour = 'hang' | 'cut' | 'reset' | { readonly status: number; readonly body: string }

type CallbackMode = Parameters<LocalProvider['approve']>[1]

const CLOCK_S_MAX = 300
const CALLBACK_TRIES = 5
const CALLBACK_AGAIN_MS = 300
const MCH_ID = '1900007291'
const APP_ID = 'wx8888888888888888'
const SERIAL_NO = '3775B6A45ACD588826D15E583A95F5DD00000001'

let servers = 0

interface WechatServer extends LocalProvider {
  readonly books: LocalProvider['books']
  readonly inside: WechatBooks
  readonly signer: WechatSigner
  /** Method and path of every request, in order. */
  readonly requests: readonly string[]
  readonly bodies: readonly string[]
  /** What it does instead of answering a request; undefined: it answers. */
  misbehave: (method: string, path: string, body: string) => Misbehaviour | undefined
  /** Changes the headers of the next answers. */
  tamper: (headers: Map<string, string>) => void
  shiftClock(ms: number): void
  /** A callback as it would be sent about the order. `changes` replace fields of the resource. */
  notice(trade: ServerTrade, changes?: object): ReturnType<WechatSigner['sign']>
  refundNotice(refund: ServerRefund, changes?: object): ReturnType<WechatSigner['sign']>
  /** Our ref in a callback that was sent. */
  refOfNotice(rawBody: Uint8Array): string | undefined
  /** Ends a refund that is PROCESSING, and calls back. */
  endRefund(no: string, status: ServerRefund['status']): void
}

/** @param signsWith with `public key` the settings have one, and callbacks are signed with it */
export async function openWechatServer(
  signsWith: 'certificate' | 'public key' = 'certificate',
  name = 'wechat',
): Promise<WechatServer> {
  let shiftMs = 0
  const now = () => systemClock.now() + shiftMs
  // Three pairs for each of two servers at a time.
  const signer = new WechatSigner(signsWith, 1 + (servers++ % 2) * 3, now)
  const inside = new WechatBooks(MCH_ID, APP_ID, now)
  const requests: string[] = []
  const bodies: string[] = []
  const refs = new Map<string, string>()
  const stopped = new AbortController()
  const sending = new Set<Promise<void>>()

  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const [method = '', path = ''] = [request.method, request.url]
    requests.push(`${method} ${path}`)
    bodies.push(body)
    const instead = self.misbehave(method, path, body)
    if (instead === undefined)
      answer(request, response, isRightful(request, body) ? route(method, path, body) : UNAUTHORIZED)
    else misbehave(response, instead)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function isRightful(request: IncomingMessage, body: string): boolean {
    const { authorization = '', accept, 'user-agent': agent } = request.headers
    const [, fields = ''] = /^WECHATPAY2-SHA256-RSA2048 (.*)$/.exec(authorization) ?? []
    const { mchid, nonce_str, signature, timestamp, serial_no } = Object.fromEntries(
      [...fields.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    )
    if (mchid !== MCH_ID || serial_no !== SERIAL_NO || !accept || !agent) return false
    if (Math.abs(now() / 1000 - Number(timestamp)) > CLOCK_S_MAX) return false
    const message = Formatter.request(request.method!, request.url!, timestamp!, nonce_str!, body)
    return Rsa.verify(message, signature!, rsaPair(0).publicKey)
  }

  function route(method: string, path: string, body: string): Answer {
    const [pathname = '', query] = path.split('?')
    const [, , , kind, ...rest] = pathname.split('/')
    if (method === 'GET' && pathname === '/v3/certificates') return { status: 200 }
    if (pathname.startsWith('/v3/pay/transactions/out-trade-no/')) {
      const no = decodeURIComponent(rest[1]!)
      if (method === 'POST') return inside.close(no)
      return query === `mchid=${MCH_ID}` ? inside.query(no) : { status: 400, body: { code: 'PARAM_ERROR' } }
    }
    if (method === 'POST' && kind === 'transactions') return inside.prepay(rest[0]!, JSON.parse(body), base)
    if (method === 'GET' && kind === 'domestic') return inside.queryRefund(decodeURIComponent(rest[1]!))
    if (method === 'POST' && kind === 'domestic') {
      const { made, ...said } = inside.refund(JSON.parse(body))
      if (made && made.status !== 'PROCESSING') tellRefund(made)
      return said
    }
    return { status: 404, body: { code: 'RESOURCE_NOT_EXISTS' } }
  }

  function answer(request: IncomingMessage, response: ServerResponse, { status, body }: Answer): void {
    const isList = request.url === '/v3/certificates' && status === 200
    const text = isList ? signer.certificateList() : body === undefined ? '' : JSON.stringify(body)
    const named = request.headers['wechatpay-serial'] === signer.publicKeyId
    const headers = new Map(signer.sign(text, named ? 'public key' : 'certificate').headers)
    if (status === 401) headers.clear()
    self.tamper(headers)
    response.writeHead(status, { ...Object.fromEntries(headers), 'content-type': 'application/json' }).end(text)
  }

  function notice(event: string, resource: object, of: string, create = now()) {
    const id = randomUUID()
    const sealed = { original_type: of, ...signer.seal(JSON.stringify(resource), of) }
    const summary = {
      create_time: beijing(create),
      resource_type: 'encrypt-resource',
      event_type: event,
      summary: '成功',
    }
    return { id, ...signer.sign(JSON.stringify({ id, ...summary, resource: sealed })) }
  }
  const tradeNotice = (trade: ServerTrade, changes: object = {}) =>
    notice('TRANSACTION.SUCCESS', { ...inside.describe(trade), ...changes }, 'transaction')
  const refundNotice = ({ trade, no, amount, status }: ServerRefund, changes: object = {}) => {
    const { mchid, out_trade_no, total } = trade
    const paid = { total, refund: amount, payer_total: total, payer_refund: amount }
    const told = { mchid, out_trade_no, out_refund_no: no, refund_status: status, amount: paid }
    return notice(`REFUND.${status}`, { ...told, transaction_id: '4200', refund_id: '5030', ...changes }, 'refund')
  }

  function tellRefund(refund: ServerRefund): void {
    if (refund.notifyUrl !== undefined) callBack(refund.notifyUrl, refund.trade, refundNotice(refund))
  }

  function callBack(url: string, trade: ServerTrade, sent: ReturnType<typeof notice>, delayMs = 0): void {
    refs.set(sent.id, trade.attach ?? '')
    const send = async () => {
      await systemClock.sleep(delayMs, stopped.signal)
      for (let tries = 0; tries < CALLBACK_TRIES && !stopped.signal.aborted; tries++) {
        const init = { method: 'POST', body: Buffer.from(sent.rawBody), signal: stopped.signal }
        const headers = { ...Object.fromEntries(sent.headers), 'content-type': 'application/json' }
        const reply = await fetch(url, { ...init, headers }).catch(() => undefined)
        if (reply?.ok) return
        await systemClock.sleep(CALLBACK_AGAIN_MS, stopped.signal)
      }
    }
    const done = send().finally(() => sending.delete(done))
    sending.add(done)
  }

  async function approve(payUrl: string, mode: CallbackMode = 'plain'): Promise<'captured' | 'refused'> {
    const trade = inside.tradeOf(payUrl)
    if (trade.state !== 'NOTPAY' || now() > trade.endsAtMs) return 'refused'
    trade.state = 'SUCCESS'
    trade.paidAtMs = now()
    if (mode === 'lost') return 'captured'
    const sent = tradeNotice(trade)
    callBack(trade.notify_url, trade, sent, typeof mode === 'object' ? mode.lateMs : 0)
    if (mode === 'double') callBack(trade.notify_url, trade, sent)
    return 'captured'
  }

  const upper = name.toUpperCase().replace('.', '_')
  const self: WechatServer = {
    name,
    settings: {
      [`${upper}_MCH_ID`]: MCH_ID,
      [`${upper}_APP_ID`]: APP_ID,
      [`${upper}_API_V3_KEY`]: signer.apiV3Key,
      [`${upper}_PRIVATE_KEY`]: rsaPair(0).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      [`${upper}_SERIAL_NO`]: SERIAL_NO,
      [`${upper}_API_BASE`]: base,
      [`${upper}_METHODS`]: 'native,h5,jsapi',
      ...(signsWith === 'public key' && { [`${upper}_PUBLIC_KEY`]: `${signer.publicKeyId}\n${signer.publicKeyPem}` }),
    },
    inside,
    signer,
    requests,
    bodies,
    misbehave: () => undefined,
    tamper: () => undefined,
    shiftClock(ms) {
      shiftMs += ms
    },
    approve,
    // WeChat Pay tells nothing of a try that failed: the order stays as it is.
    decline: async payUrl => void inside.tradeOf(payUrl),
    books: () =>
      new Map(
        [...inside.trades.values()].map(trade => {
          const isPaid = trade.state === 'SUCCESS' || trade.state === 'REFUND'
          return [trade.attach ?? '', { captured: isPaid ? trade.total : 0, refunded: inside.refunded(trade) }]
        }),
      ),
    notice: tradeNotice,
    refundNotice,
    refOfNotice: rawBody => refs.get(JSON.parse(Buffer.from(rawBody).toString()).id),
    endRefund(no, status) {
      const refund = inside.refunds.get(no)!
      refund.status = status
      tellRefund(refund)
    },
    async close() {
      stopped.abort()
      await Promise.all(sending)
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return self
}

const UNAUTHORIZED: Answer = { status: 401, body: { code: 'SIGN_ERROR', message: '签名错误' } }

function misbehave(response: ServerResponse, what: Misbehaviour): void {
  if (what === 'hang') return
  if (what === 'reset') return void response.socket?.destroy()
  if (what === 'cut') return void response.writeHead(200, { 'content-length': '500' }).write('{"code_url":"weixin:')
  response.writeHead(what.status, { 'content-type': 'text/html' }).end(what.body)
}
