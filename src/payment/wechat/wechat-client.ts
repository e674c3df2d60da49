/**
 * Calls of WeChat Pay's API v3: every request is signed with the merchant's key, every success must be signed by WeChat Pay.
 *
 * No answer, an answer that is not WeChat Pay's, and an error that may pass are a retryable Fault with an unknown outcome. Other errors are
 * returned: the verb knows what they mean. As soon as the signal aborts, the call has failed. Nothing that was sent or answered gets into a
 * Fault but the order's number, the status and the code: a body may name the buyer.
 */

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Random } from '../../base/random.ts'
import { type Meaning, meaningOf, remedyOf } from './error-codes.ts'
import { PlatformKeys } from './platform-keys.ts'
import { readAnswer, type WechatAnswer } from './wechat-answer.ts'
import { isGenuine, readSignature, signLines } from './wechat-crypto.ts'

/** WeChat Pay's own limit, in both directions. */
export const CLOCK_MS_MAX = 300_000
const NONCE_BYTES = 16

export interface WechatAccount {
  /** As in PAYMENT_PROVIDERS. */
  readonly name: string
  readonly mchId: string
  readonly appId: string
  readonly apiV3Key: string
  /** PEM. */
  readonly privateKey: string
  /** Of the merchant's certificate. */
  readonly serialNo: string
  /** The newest first. None: WeChat Pay signs with certificates, which are downloaded. */
  readonly publicKeys: readonly { readonly id: string; readonly pem: string }[]
  /** Without a trailing slash. */
  readonly apiBase: string
}

export interface WechatPorts {
  readonly clock: Clock
  readonly random: Random
}

type WechatReply =
  | { readonly ok: true; readonly body: unknown }
  /** `fault`: for a verb that has no use for this answer. */
  | { readonly ok: false; readonly meaning: Meaning; readonly message: string; readonly fault: Fault }

type Method = 'GET' | 'POST'

export class WechatClient {
  readonly account: WechatAccount
  readonly keys: PlatformKeys
  readonly #ports: WechatPorts
  readonly #privateKey: KeyObject

  constructor(account: WechatAccount, ports: WechatPorts) {
    this.account = account
    this.#ports = ports
    this.#privateKey = createPrivateKey(account.privateKey)
    this.keys = new PlatformKeys({
      publicKeys: account.publicKeys.map(({ id, pem }) => ({ id, key: createPublicKey(pem) })),
      apiV3Key: account.apiV3Key,
      clock: ports.clock,
      download: signal => this.send('GET', '/v3/certificates', undefined, signal),
    })
  }

  /** @param path with the query, exactly as it is sent: it is part of what is signed */
  async call(method: Method, path: string, body: object | undefined, signal: AbortSignal): Promise<WechatReply> {
    return untilAborted(signal, async () => {
      const answer = await this.send(method, path, body, signal)
      const { status, code, message } = answer
      if (status !== 200 && status !== 204) {
        const meaning = meaningOf(status, code)
        const fault = refusal(meaning, status, code)
        if (meaning === 'retry') throw fault
        return { ok: false, meaning, message, fault }
      }
      const problem = await this.problemOf(answer)
      if (problem !== undefined) throw unreachable(problem)
      return { ok: true, body: status === 204 ? undefined : answer.json() }
    })
  }

  /** The answer as it came. */
  async send(method: Method, path: string, body: object | undefined, signal: AbortSignal): Promise<WechatAnswer> {
    const { apiBase, publicKeys } = this.account
    const text = body === undefined ? '' : JSON.stringify(body)
    try {
      const response = await fetch(`${apiBase}${path}`, {
        method,
        headers: {
          accept: 'application/json',
          'accept-language': 'zh-CN',
          'content-type': 'application/json',
          'user-agent': 'stampede',
          authorization: this.#authorization(method, path, text),
          ...(publicKeys[0] && { 'wechatpay-serial': publicKeys[0].id }),
        },
        ...(body !== undefined && { body: text }),
        redirect: 'error',
        signal,
      })
      return await readAnswer(response)
    } catch (cause) {
      throw unreachable('WeChat Pay did not answer in time', cause)
    }
  }

  /** Why an answer is not WeChat Pay's; undefined: it is. */
  async problemOf({ headers, rawBody }: WechatAnswer): Promise<string | undefined> {
    const signature = readSignature(headers)
    if (signature === undefined) return 'the answer is not signed, or with a probe signature'
    const offMs = this.#ports.clock.now() - Number(signature.timestamp) * 1000
    const key = await this.keys.find(signature.serial, 'answer')
    if (key === undefined) return `the answer is signed with ${signature.serial}, which is no key of WeChat Pay`
    if (!isGenuine(key, rawBody, signature)) return 'the signature of the answer is wrong'
    if (Math.abs(offMs) <= CLOCK_MS_MAX) return undefined
    return `the clock of this machine and WeChat Pay's are ${Math.round(Math.abs(offMs) / 1000)} s apart: set it right`
  }

  /** What WeChat's script inside its app is called with. */
  scriptParameters(prepayId: string): Readonly<Record<string, string>> {
    const { appId } = this.account
    const [timeStamp, nonceStr] = this.#stamp()
    const bundle = `prepay_id=${prepayId}`
    const paySign = signLines(this.#privateKey, [appId, timeStamp, nonceStr, bundle])
    return { appId, timeStamp, nonceStr, package: bundle, signType: 'RSA', paySign }
  }

  #authorization(method: Method, path: string, body: string): string {
    const [timestamp, nonce] = this.#stamp()
    const signature = signLines(this.#privateKey, [method, path, timestamp, nonce, body])
    const { mchId, serialNo } = this.account
    return `WECHATPAY2-SHA256-RSA2048 mchid="${mchId}",nonce_str="${nonce}",signature="${signature}",timestamp="${timestamp}",serial_no="${serialNo}"`
  }

  #stamp(): readonly [string, string] {
    const { clock, random } = this.#ports
    return [String(Math.floor(clock.now() / 1000)), Buffer.from(random.bytes(NONCE_BYTES)).toString('hex')]
  }
}

export function unreachable(what: string, cause?: unknown): Fault {
  return new Fault('payment_unreachable', what, { retryable: true, outcomeUnknown: true, cause })
}

function refusal(meaning: Meaning, status: number, code: string | undefined): Fault {
  if (code === undefined) return unreachable(`WeChat Pay did not answer: ${status} came from something in between`)
  const text = `WeChat Pay answered ${status} ${code}`
  if (meaning === 'retry') return unreachable(text)
  return new Fault('payment_refused', `${text}: ${remedyOf(code)}`)
}

/** A shared download of certificates goes on when one of its callers has no time left. */
async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (signal.aborted) throw unreachable('WeChat Pay was not called: no time was left')
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(unreachable('WeChat Pay did not answer in time'))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
