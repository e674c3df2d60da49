/**
 * The sandbox's pay pages over HTTP, without a server of their own: a request in, an answer out. Whoever knows a payUrl may pay.
 *
 *   GET  payUrl                     the page
 *   POST payUrl/approve[?mode=…]    the buyer pays; `mode` (see `sandbox-payment.ts`) makes the callback go wrong
 *   POST payUrl/decline             the buyer does not
 *   POST payUrl/hide?ms=MS          for tests: the engine gets no answer about this payment for so long
 *
 * Browsers (an Accept with text/html) get pages, and are sent on to where they came from; everybody else gets JSON: `{"state":…}` or
 * a problem (RFC 9457). Deciding again as before answers as before; deciding otherwise is refused.
 */

import { Fault } from '../../base/fault.ts'
import type { HouseKeys } from './house-keys.ts'
import type { SandboxHouse } from './sandbox-house.ts'
import { contentSecurityPolicy, type Language, languageOf, renderMissing, renderPayment } from './sandbox-page.ts'
import { parseMode, parseWaitMs, type SandboxPayment } from './sandbox-payment.ts'
import { PAY_PATH } from './sandbox-provider.ts'

interface SandboxRequest {
  readonly method: string
  /** From `/sandbox/pay/` on, as it came. */
  readonly path: string
  readonly query: URLSearchParams
  readonly accept: string | undefined
  readonly acceptLanguage: string | undefined
}

interface SandboxAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The address is a secret: it must not be kept by caches nor told to other sites. */
const HEADERS = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' }

const TITLES = {
  body_invalid: { status: 400, title: 'The request is not what this call takes' },
  not_found: { status: 404, title: 'There is no such thing' },
  method_not_allowed: { status: 405, title: 'This address does not take that method' },
  payment_settled: { status: 409, title: 'The payment was decided before' },
  busy: { status: 503, title: 'Busy' },
} as const

export async function handleSandbox(
  house: SandboxHouse,
  keys: HouseKeys,
  request: SandboxRequest,
): Promise<SandboxAnswer> {
  const [token = '', action, ...more] = request.path.slice(PAY_PATH.length).split('/')
  const ref = request.path.startsWith(PAY_PATH) && more.length === 0 ? keys.refOf(token) : undefined
  const view: View = {
    token,
    language: languageOf(request.acceptLanguage),
    html: /\btext\/html\b/i.test(request.accept ?? ''),
  }
  try {
    // Nobody looks before a decision: the house answers what came of it, and what lies between would only be a gap for others.
    const decides = request.method === 'POST' && (action === 'approve' || action === 'decline')
    if (ref !== undefined && decides) return await decide(house, ref, action, request.query, view)

    const payment = ref === undefined ? undefined : await house.find(ref)
    if (ref === undefined || payment === undefined) return missing(view)

    if (action === undefined) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return wrongMethod('GET, HEAD')
      return view.html || acceptsAnything(request.accept) ? htmlPage(payment, view) : stateOf(payment)
    }
    if (action !== 'approve' && action !== 'decline' && action !== 'hide') return missing(view)
    if (request.method !== 'POST') return wrongMethod('POST')
    return hide(house, ref, request.query)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return problem('busy', 'It is not sure whether this was done. Ask again: nothing happens twice.', {
      'retry-after': '1',
    })
  }
}

interface View {
  readonly token: string
  readonly language: Language
  readonly html: boolean
}

async function decide(
  house: SandboxHouse,
  ref: string,
  action: 'approve' | 'decline',
  query: URLSearchParams,
  view: View,
): Promise<SandboxAnswer> {
  const mode = parseMode(query.get('mode') ?? 'plain')
  if (mode === undefined) return problem('body_invalid', '"mode" is not one that the sandbox knows.')
  const payment = await (action === 'approve' ? house.approve(ref, mode) : house.decline(ref))
  if (payment === undefined) return missing(view)

  const refused = payment.state !== (action === 'approve' ? 'captured' : 'void')
  if (view.html) {
    const back = payment.asked?.returnUrl
    if (back !== undefined) return { status: 303, headers: { ...HEADERS, location: back }, body: '' }
    return htmlPage(payment, view, refused ? 409 : 200)
  }
  if (!refused) return stateOf(payment)
  return problem('payment_settled', `The payment is ${payment.state}.`, {}, { state: payment.state })
}

function hide(house: SandboxHouse, ref: string, query: URLSearchParams): SandboxAnswer {
  const ms = parseWaitMs(query.get('ms'))
  if (ms === undefined) return problem('body_invalid', '"ms" is a whole number from 0 to 600000.')
  house.hide(ref, ms)
  return json(200, { hiddenMs: ms })
}

function htmlPage(payment: SandboxPayment, view: View, status = 200): SandboxAnswer {
  return html(status, renderPayment(payment, view.token, view.language), payment.asked?.returnUrl)
}

function missing(view: View): SandboxAnswer {
  return view.html ? html(404, renderMissing(view.language), undefined) : problem('not_found')
}

function html(status: number, body: string, returnUrl: string | undefined): SandboxAnswer {
  return {
    status,
    headers: {
      ...HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy(returnUrl),
      vary: 'accept, accept-language',
    },
    body,
  }
}

function stateOf(payment: SandboxPayment): SandboxAnswer {
  return json(200, { state: payment.state })
}

function json(status: number, body: unknown): SandboxAnswer {
  return { status, headers: { ...HEADERS, 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function wrongMethod(allow: string): SandboxAnswer {
  return problem('method_not_allowed', undefined, { allow })
}

function problem(
  code: keyof typeof TITLES,
  detail?: string,
  headers: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, unknown>> = {},
): SandboxAnswer {
  const { status, title } = TITLES[code]
  const body = { type: `/docs/errors#${code}`, title, status, detail: detail ?? title, code, ...more }
  return {
    status,
    headers: { ...HEADERS, 'content-type': 'application/problem+json', ...headers },
    body: JSON.stringify(body),
  }
}

/** Somebody who only looks: no wish at all, or any kind will do. */
function acceptsAnything(accept: string | undefined): boolean {
  return accept === undefined || accept === '' || accept.startsWith('*/*')
}
