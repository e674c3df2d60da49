/**
 * Do keys, clock and addresses fit? Asks WeChat Pay about an order that does not exist, and for its certificates where they are used.
 * Changes nothing.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault, onFault } from '../../base/fault.ts'
import type { PaymentProvider } from '../payment.ts'
import { meaningOf, remedyOf } from './error-codes.ts'
import type { WechatAnswer } from './wechat-answer.ts'
import { CLOCK_MS_MAX, type WechatClient } from './wechat-client.ts'

const NO_SUCH_ORDER = 'stampede-examine'
/** Off by less than a fifth of what WeChat Pay bears. */
const CLOCK_OFF_MS_MAX = CLOCK_MS_MAX / 5
const CALLBACK_LENGTH_MAX = 255

type Findings = Awaited<ReturnType<NonNullable<PaymentProvider['examine']>>>
type Finding = Findings[number]

interface ExamineContext {
  readonly client: WechatClient
  readonly clock: Clock
  readonly callbackUrl: () => string
}

export async function examineAccount(context: ExamineContext, signal: AbortSignal): Promise<Findings> {
  const { client, clock, callbackUrl } = context
  const { mchId, apiBase, publicKeys } = client.account
  const path = `/v3/pay/transactions/out-trade-no/${NO_SUCH_ORDER}?mchid=${mchId}`
  const answer = await onFault(() => client.send('GET', path, undefined, signal))
  const callback = callbackFinding(callbackUrl())
  if (answer === undefined)
    return [
      { what: 'WeChat Pay answers', ok: false, detail: `No answer from ${apiBase}. Check the network.` },
      callback,
    ]
  const signer = publicKeys.length > 0 ? await publicKeyFinding(client, answer) : await certificatesFinding(client)
  return [keysFinding(answer), clockFinding(answer, clock), signer, callback]
}

function keysFinding({ status, code }: WechatAnswer): Finding {
  const what = 'merchant number, private key and serial number'
  const ok = meaningOf(status, code) === 'missing'
  const detail = code === undefined ? `The answer was ${status}, not from WeChat Pay.` : `${code}: ${remedyOf(code)}.`
  return { what, ok, detail: ok ? 'WeChat Pay accepts the signature.' : detail }
}

function clockFinding({ headers }: WechatAnswer, clock: Clock): Finding {
  const offMs = Math.abs(clock.now() - Date.parse(headers.get('date') ?? ''))
  // NaN: the answer has no date, and the signature's own check of the time must do.
  const ok = !(offMs > CLOCK_OFF_MS_MAX)
  const seconds = Math.round(offMs / 1000)
  return { what: 'clock', ok, detail: ok ? 'Fits.' : `Off by ${seconds} s; at 300 s nothing works. Use NTP.` }
}

async function certificatesFinding({ keys }: WechatClient): Promise<Finding> {
  await keys.refresh('answer')
  const valid = keys.valid()
  const what = 'platform certificates and API v3 key'
  if (valid instanceof Fault) return { what, ok: false, detail: `${valid.message}.` }
  const detail = valid.length > 0 ? `Valid: ${valid.join(', ')}.` : 'None is valid: set WECHAT_PUBLIC_KEY.'
  return { what, ok: valid.length > 0, detail }
}

async function publicKeyFinding(client: WechatClient, answer: WechatAnswer): Promise<Finding> {
  const what = 'WeChat Pay public key'
  if (!answer.headers.get('wechatpay-signature'))
    return { what, ok: true, detail: 'Configured. This answer was not signed, so it could not be tried.' }
  const problem = await onFault(
    () => client.problemOf(answer),
    fault => fault.message,
  )
  return { what, ok: problem === undefined, detail: problem === undefined ? 'It fits.' : `${problem}.` }
}

function callbackFinding(url: string): Finding {
  const parsed = URL.parse(url)
  const ok = parsed?.protocol === 'https:' && parsed.search === '' && url.length <= CALLBACK_LENGTH_MAX
  const detail = ok ? url : `${url}: WeChat Pay calls back only over https, without a query. Set PUBLIC_URL.`
  return { what: 'callback address', ok, detail }
}
