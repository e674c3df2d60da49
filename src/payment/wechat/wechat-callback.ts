/**
 * Checks a callback of WeChat Pay: the signature over the raw bytes, its time, then the encrypted resource, whose merchant, app and order must
 * be ours. Undefined: forged, stale, a probe, malformed, or about an account that is not this one. WeChat Pay repeats a callback for a day,
 * so one that is refused by mistake is not lost, and active queries find the payment anyway.
 */

import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { CallbackEvent } from '../payment.ts'
import { refOf } from './trade-numbers.ts'
import { parseJson } from './wechat-answer.ts'
import { CLOCK_MS_MAX, type WechatAccount, type WechatClient } from './wechat-client.ts'
import { type HeaderSource, isGenuine, readSignature, unseal } from './wechat-crypto.ts'
import { CURRENCY, captureOf, readRefund, readTrade } from './wechat-trade.ts'

const CALLBACK_BYTES_MAX = 64 * 1024

const noticeSchema = z.object({
  id: z.string().min(1).max(64),
  event_type: z.string().max(64),
  create_time: z.iso.datetime({ offset: true }).transform(text => Date.parse(text)),
  resource: z.object({
    algorithm: z.literal('AEAD_AES_256_GCM'),
    ciphertext: z.string(),
    nonce: z.string(),
    associated_data: z.string().optional(),
  }),
})

type Notice = z.infer<typeof noticeSchema>

interface CallbackContext {
  readonly client: WechatClient
  readonly clock: Clock
  readonly log: Log
}

export async function verifyCallback(
  { client, clock, log }: CallbackContext,
  rawBody: Uint8Array,
  headers: HeaderSource,
): Promise<CallbackEvent | undefined> {
  const signature = readSignature(headers)
  if (signature === undefined || rawBody.byteLength > CALLBACK_BYTES_MAX) return undefined
  // Before the certificates are asked for: an old callback must not cause a download.
  if (Math.abs(clock.now() - Number(signature.timestamp) * 1000) > CLOCK_MS_MAX) return undefined
  const key = await client.keys.find(signature.serial, 'callback')
  if (key === undefined || !isGenuine(key, rawBody, signature)) return undefined

  const notice = noticeSchema.safeParse(parseJson(rawBody)).data
  if (notice === undefined) return undefined
  if (notice.event_type === 'TRANSACTION.SUCCESS') return captured(client.account, notice)
  if (notice.event_type.startsWith('REFUND.')) return refunded(client.account, notice, log)
  return other(notice, '')
}

function captured(account: WechatAccount, notice: Notice): CallbackEvent | undefined {
  const trade = readTrade(openResource(account, notice), account)
  const ref = trade && refOf(trade.out_trade_no, trade.attach)
  const capture = trade && captureOf(trade)
  if (trade?.appid === undefined || ref === undefined || capture === undefined) return undefined
  return { eventId: notice.id, ref, kind: 'captured', amount: capture.amount, atMs: capture.capturedAtMs }
}

/** A part that went back leaves the payment captured. What did not arrive is found again when the refund is asked about, and logged here. */
function refunded(account: WechatAccount, notice: Notice, log: Log): CallbackEvent | undefined {
  const refund = readRefund(openResource(account, notice), account)
  if (refund === undefined) return undefined
  const ref = refOf(refund.tradeNo, undefined)
  if (refund.status === 'ABNORMAL' || refund.status === 'CLOSED')
    log.error(
      { event: 'wechat_refund_failed', provider: account.name, ref, refund: refund.refundNo, status: refund.status },
      'refund not received by the buyer: handle it in the merchant platform',
    )
  const isWhole = refund.status === 'SUCCESS' && refund.refund === refund.total
  if (ref === undefined || !isWhole) return other(notice, ref ?? '')
  const amount = { amount: refund.refund, currency: CURRENCY }
  return { eventId: notice.id, ref, kind: 'refunded', amount, atMs: notice.create_time }
}

function other(notice: Notice, ref: string): CallbackEvent {
  return { eventId: notice.id, ref, kind: 'other', amount: { amount: 0, currency: CURRENCY }, atMs: notice.create_time }
}

/** The signature is genuine, so what can't be decrypted is not forged: the key is wrong here, and a repeated callback works once it is right. */
function openResource({ name, apiV3Key }: WechatAccount, { resource }: Notice): unknown {
  const text = unseal(apiV3Key, resource)
  if (text === undefined)
    throw new Fault(
      'payment_unreachable',
      `${name}: the API v3 key does not decrypt a genuine callback: set it right`,
      {
        retryable: true,
      },
    )
  return parseJson(Buffer.from(text))
}
