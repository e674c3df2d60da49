/**
 * A provider in the place of the proof of work: its widget gives the page a token, and this asks the provider about it (siteverify, which
 * Turnstile and hCaptcha speak alike).
 *
 * Bound as far as the provider goes: the host it was solved on must be one of ours; with Turnstile also the action and `cdata`, which is a
 * keyed hash of sale, item, buyer and attempt. Single use is the provider's own: a token that comes again is refused there. With Turnstile
 * the same token again from the same buyer for the same attempt gets the same answer (an idempotency key made of both), so a lost answer costs no
 * second widget; no other buyer can make that key.
 *
 * Bounded: time and size of an answer, checks under way. After `FAILURES_MAX` failures in a row the provider counts as down, and one check in
 * `REST_MS` tries it again; the others get the stated answer at once. A provider that says that our own request is wrong (the secret above
 * all), or says what no provider says, has failed. Does not retry, follows no redirects, sends nothing about the buyer but the token.
 *
 * working → (failures in a row) → down → (a check that is answered) → working
 */

import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { ChallengeCheck, ChallengeProvider, ChallengeSubject } from '../challenges.ts'

/** What the page shows the widget with. */
interface WidgetTerms {
  readonly provider: ChallengeProvider['name']
  readonly siteKey: string
  readonly script: string
  readonly action: string
  readonly cdata: string
}

const ACTION = 'ticket'
const UNDER_WAY_MAX = 256
const ANSWER_BYTES_MAX = 16 * 1024
const FAILURES_MAX = 5
const REST_MS = 2_000
/** Turnstile's have up to 2,048 characters, hCaptcha's more. */
const TOKEN_LENGTH_MAX = 8_192
/** hCaptcha says this where the visitor's browser hides it. */
const HOST_UNTOLD = 'not-provided'

const EXPIRED = new Set([
  'timeout-or-duplicate',
  'expired-input-response',
  'already-seen-response',
  'invalid-or-already-seen-response',
])
const WRONG = new Set(['invalid-input-response', 'missing-input-response'])

const payloadSchema = z.object({
  token: z
    .string()
    .regex(/^[\x21-\x7e]+$/)
    .max(TOKEN_LENGTH_MAX),
})
const answerSchema = z.object({
  success: z.boolean(),
  hostname: z.string().nullish(),
  action: z.string().nullish(),
  cdata: z.string().nullish(),
  'error-codes': z.array(z.string()).nullish(),
})
type Answer = z.output<typeof answerSchema>

interface Options {
  readonly provider: ChallengeProvider
  /** Shared by all edges. */
  readonly secret: string
  readonly clock: Clock
  readonly log: Log
}

export function createSiteverify({ provider, secret, clock, log }: Options) {
  const outage = new OutageLog(
    { clock, log },
    { provider: provider.name, answer: provider.whenDown },
    {
      event: 'challenge_provider_failed',
      begins: 'the challenge provider failed',
      lasts: 'the challenge provider still fails',
      ends: 'the challenge provider answers again',
    },
  )
  const isTurnstile = provider.name === 'turnstile'
  let underWay = 0
  let failures = 0
  let restUntilMs = 0

  const hashOf = (...parts: readonly unknown[]) => createHmac('sha256', secret).update(JSON.stringify(parts)).digest()
  const cdataOf = ({ sale, item, buyer, attempt }: ChallengeSubject) =>
    hashOf('cdata', sale, item, buyer, attempt).toString('base64url')

  function judge(subject: ChallengeSubject, answer: Answer): ChallengeCheck {
    if (!answer.success) {
      const codes = answer['error-codes'] ?? []
      if (codes.some(code => EXPIRED.has(code))) return 'expired'
      if (codes.length > 0 && codes.every(code => WRONG.has(code))) return 'wrong'
      throw new Fault('challenge_provider_refused', `the provider refused the check itself: ${shown(codes)}`)
    }
    const host = answer.hostname ?? HOST_UNTOLD
    if (!provider.hostnames.includes(host) && (isTurnstile || host !== HOST_UNTOLD)) return 'foreign'
    if (isTurnstile && (answer.action !== ACTION || answer.cdata !== cdataOf(subject))) return 'foreign'
    return 'passed'
  }

  async function ask(subject: ChallengeSubject, token: string): Promise<ChallengeCheck> {
    const form = new URLSearchParams({ secret: provider.secret, response: token })
    if (isTurnstile) form.set('idempotency_key', uuidOf(hashOf('check', cdataOf(subject), token)))
    else form.set('sitekey', provider.siteKey)
    const { verifyUrl, timeoutMs } = provider
    return judge(subject, await withDeadline(clock, timeoutMs, signal => post(verifyUrl, form, timeoutMs, signal)))
  }

  return {
    kind: 'provider' as const,

    make(subject: ChallengeSubject): Promise<WidgetTerms> {
      const { name, siteKey, script } = provider
      return Promise.resolve({ provider: name, siteKey, script, action: ACTION, cdata: cdataOf(subject) })
    },

    async check(subject: ChallengeSubject, payload: unknown): Promise<ChallengeCheck> {
      const parsed = payloadSchema.safeParse(payload)
      if (!parsed.success) return 'malformed'
      const whenDown = provider.whenDown === 'allow' ? 'waived' : 'unknown'
      if (failures >= FAILURES_MAX) {
        if (clock.elapsed() < restUntilMs) return whenDown
        restUntilMs = clock.elapsed() + REST_MS
      }
      // A flood must not open what a provider that is down opens.
      if (underWay >= UNDER_WAY_MAX) return 'unknown'
      underWay += 1
      try {
        const verdict = await ask(subject, parsed.data.token)
        failures = 0
        outage.worked()
        return verdict
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        failures += 1
        if (failures === FAILURES_MAX) restUntilMs = clock.elapsed() + REST_MS
        outage.failed(error)
        return whenDown
      } finally {
        underWay -= 1
      }
    },
  }
}

/** Throws a Fault for whatever is no answer. No error's text holds the request: the secret is in it. */
async function post(url: string, form: URLSearchParams, timeoutMs: number, signal: AbortSignal): Promise<Answer> {
  const failed = (why: string) => new Fault('challenge_provider_failed', `the provider did not verify: ${why}`)
  let text: string
  let isOk: boolean
  try {
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await fetch(url, { method: 'POST', headers, body: form.toString(), redirect: 'error', signal })
    isOk = answer.ok
    text = await boundedText(answer)
  } catch (error) {
    throw failed(
      signal.aborted ? `no answer within ${timeoutMs} ms` : error instanceof Error ? error.message : 'unknown',
    )
  }
  const parsed = answerSchema.safeParse(jsonOf(text))
  if (!parsed.success) throw failed('the answer is not what siteverify answers')
  // A refusal may have any status; "success" under the status of an error is none.
  if (parsed.data.success && !isOk) throw failed('the answer contradicts its status')
  return parsed.data
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > ANSWER_BYTES_MAX) throw new Error(`the answer has more than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Codes come from outside: only what looks like one is shown. */
function shown(codes: readonly string[]): string {
  const known = codes.filter(code => /^[a-z-]{1,40}$/.test(code)).slice(0, 5)
  return known.join(', ') || 'without a reason'
}

/** As version 4 is written. */
function uuidOf(bytes: Buffer): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
