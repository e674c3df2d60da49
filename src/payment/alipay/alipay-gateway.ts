/**
 * Calls to Alipay's gateway, OpenAPI 2.0: signed with our key (RSA2), and answers believed only with Alipay's signature over the exact text.
 * A call ends with its signal at the latest. Does not know what a call is about.
 */

import { type KeyObject, sign, verify } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { type AlipayAnswer, faultOf, meaningOf, unreachable } from './alipay-errors.ts'
import type { AlipayTrust } from './alipay-trust.ts'
import { toBeijing } from './beijing-time.ts'
import { rawMembers } from './raw-members.ts'

type Parameters = Readonly<Record<string, string>>
type Content = Readonly<Record<string, unknown>>

interface GatewayReply extends AlipayAnswer {
  readonly meaning: ReturnType<typeof meaningOf>
  readonly body: Content
}

interface GatewayPorts {
  readonly appId: string
  readonly gateway: string
  readonly privateKey: KeyObject
  readonly trust: AlipayTrust
  readonly clock: Clock
}

const DOWNLOAD_MS_MAX = 3_000
const ANSWER_BYTES_MAX = 256 * 1024
const DOWNLOAD = 'alipay.open.app.alipaycert.download'

/** RSA2: SHA-256 and PKCS #1 v1.5. The text of a signature counts too: base64 has several texts for the same bytes. */
export function isSignedBy(key: KeyObject, content: Uint8Array, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64')
  return bytes.toString('base64') === signature && verify('sha256', content, key, bytes)
}

export class AlipayGateway {
  readonly #ports: GatewayPorts
  /** How far Alipay's clock was ahead of ours at the last answer. */
  aheadMs: number | undefined

  constructor(ports: GatewayPorts) {
    this.#ports = ports
  }

  /** The address of a page that Alipay shows to the buyer. Nothing is sent: Alipay hears of the payment when the page is opened. */
  pageUrl(method: string, content: Content, more: Parameters): string {
    return `${this.#ports.gateway}?${new URLSearchParams(this.#signed(method, content, more))}`
  }

  /** Done, or an answer that the caller expects; every other one is a `Fault`. */
  async call(
    method: string,
    content: Content,
    signal: AbortSignal,
    { expects = [], more = {} }: { expects?: readonly GatewayReply['meaning'][]; more?: Parameters } = {},
  ): Promise<GatewayReply> {
    const answer = await this.#post(method, content, signal, more)
    const reply = replyOf(answer.text)
    if (answer.signature === undefined) {
      // Alipay does not sign the answer to a caller that it does not know. It refuses the call, and says nothing about a payment.
      if (reply.meaning === 'refused' && !reply.subCode.startsWith('ACQ.')) throw faultOf(method, reply)
      throw unreachable(`${method}: the answer is not signed`)
    }
    const keys = await this.keysFor(answer.serial, signal)
    const bytes = Buffer.from(answer.text)
    if (!keys.some(key => isSignedBy(key, bytes, answer.signature!)))
      throw unreachable(`${method}: the signature of the answer is not Alipay's`)
    // The signature binds an answer to no question: a proxy or cache in between may have mixed them up.
    const about = reply.body.out_trade_no
    if (about && about !== content.out_trade_no) throw unreachable(`${method}: the answer is about another payment`)
    if (reply.meaning === 'done' || expects.includes(reply.meaning)) return reply
    throw faultOf(method, reply)
  }

  /**
   * A download serves all that wait for it, so it has a deadline of its own.
   * @param answerWithin of a call whose answer is to be judged; undefined: a notice is
   */
  async keysFor(serial: string | undefined, answerWithin?: AbortSignal): Promise<readonly KeyObject[]> {
    const { trust, clock } = this.#ports
    const download = (wanted: string) => withDeadline(clock, DOWNLOAD_MS_MAX, ended => this.#download(wanted, ended))
    const over = Promise.withResolvers<never>()
    const end = () => over.reject(unreachable(`${DOWNLOAD}: no answer from Alipay in time`))
    answerWithin?.addEventListener('abort', end)
    if (answerWithin?.aborted) end()
    try {
      return await Promise.race([trust.keysFor(serial, answerWithin ? 'answer' : 'notice', download), over.promise])
    } finally {
      answerWithin?.removeEventListener('abort', end)
    }
  }

  /** The answer is signed with the certificate it brings: what it leads to, the root, is what makes it trusted. */
  async #download(serial: string, signal: AbortSignal): Promise<KeyObject | undefined> {
    const answer = await this.#post(DOWNLOAD, { alipay_cert_sn: serial }, signal, {})
    const reply = replyOf(answer.text)
    if (reply.meaning === 'retry') throw faultOf(DOWNLOAD, reply)
    if (reply.meaning !== 'done') return undefined
    const content = reply.body.alipay_cert_content
    if (typeof content !== 'string') return undefined
    return this.#ports.trust.accept(serial, Buffer.from(content, 'base64').toString())
  }

  async #post(method: string, content: Content, signal: AbortSignal, more: Parameters) {
    const { biz_content: body = '', ...parameters } = this.#signed(method, content, more)
    const text = await this.#send(
      method,
      new URLSearchParams(parameters),
      new URLSearchParams({ biz_content: body }),
      signal,
    )
    const members = rawMembers(text)
    const answered = members?.get(`${method.replaceAll('.', '_')}_response`) ?? members?.get('error_response')
    if (answered === undefined) throw unreachable(`${method}: the answer is not one of Alipay's`)
    return {
      text: answered,
      signature: textOf(members?.get('sign')),
      serial: textOf(members?.get('alipay_cert_sn')),
    }
  }

  async #send(method: string, query: URLSearchParams, body: URLSearchParams, signal: AbortSignal): Promise<string> {
    try {
      signal.throwIfAborted()
      const response = await fetch(`${this.#ports.gateway}?${query}`, {
        method: 'POST',
        body: body.toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded;charset=utf-8', accept: 'application/json' },
        redirect: 'manual',
        signal,
      })
      const said = Date.parse(response.headers.get('date') ?? '')
      if (!Number.isNaN(said)) this.aheadMs = said - this.#ports.clock.now()
      if (response.status !== 200) {
        await response.body?.cancel()
        throw unreachable(`${method}: Alipay answered with status ${response.status}`)
      }
      return await readBounded(response)
    } catch (error) {
      // Without its cause: a library's error quotes the address, which holds the whole signed request.
      const why = error instanceof Error ? (error as NodeJS.ErrnoException).code || error.name : 'unknown'
      throw error instanceof Fault ? error : unreachable(`${method}: no answer from Alipay (${why})`)
    }
  }

  #signed(method: string, content: Content, more: Parameters): Record<string, string> {
    const { appId, privateKey, trust, clock } = this.#ports
    const parameters: Record<string, string> = {
      ...trust.parameters,
      ...more,
      app_id: appId,
      method,
      format: 'JSON',
      charset: 'utf-8',
      sign_type: 'RSA2',
      timestamp: toBeijing(clock.now()),
      version: '1.0',
      biz_content: JSON.stringify(content),
    }
    return { ...parameters, sign: sign('sha256', Buffer.from(signedText(parameters)), privateKey).toString('base64') }
  }
}

/** `name=value` of all, sorted by name, not encoded. */
function signedText(parameters: Parameters): string {
  return Object.keys(parameters)
    .sort()
    .map(name => `${name}=${parameters[name]}`)
    .join('&')
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function replyOf(text: string): GatewayReply {
  const body = JSON.parse(text) as Content
  const answer = { code: wordOf(body?.code), subCode: wordOf(body?.sub_code) }
  return { ...answer, meaning: meaningOf(answer), body: body ?? {} }
}

/** It goes into log lines. */
function wordOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.-]{1,80}$/.test(value) ? value : ''
}

function textOf(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json)
  return typeof value === 'string' && value !== '' ? value : undefined
}
