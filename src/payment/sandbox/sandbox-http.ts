/**
 * The sandbox's pay pages over HTTP, without a server of their own: a request in, an answer out. A payUrl is a secret: knowing it suffices.
 *
 *   GET  payUrl                     the page
 *   POST payUrl/approve[?mode=…]    the buyer pays; `mode` (see `sandbox-payment.ts`) makes the callback go wrong
 *   POST payUrl/decline             the buyer declines
 *   POST payUrl/hide?ms=MS          for tests: the engine gets no answer about this payment for so long
 *
 * Browsers (an Accept with text/html) get pages, and are redirected to their returnUrl; other clients get JSON: `{"state":…}` or a
 * problem (RFC 9457). The same decision again gets the same answer; another decision is refused.
 */

import { Fault } from '../../base/fault.ts'
import { PROBLEMS, type ProblemCode, problemBody } from '../../wire/problems.ts'
import { PAY_PATH, type Sandbox } from './sandbox.ts'
import type { SandboxKeys } from './sandbox-keys.ts'
import { contentSecurityPolicy, type Language, languageOf, renderMissing, renderPayment } from './sandbox-page.ts'
import { parseMode, parseWaitMs, type SandboxPayment } from './sandbox-payment.ts'

/** The address is a secret: caches must not keep it, and other sites must not learn it. */
const HEADERS = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' }

export async function handleSandbox(sandbox: Sandbox, keys: SandboxKeys, request: Request): Promise<Response> {
  const { pathname, searchParams: query } = new URL(request.url)
  const [token = '', action, ...more] = pathname.slice(PAY_PATH.length).split('/')
  const ref = pathname.startsWith(PAY_PATH) && more.length === 0 ? keys.refOf(token) : undefined
  const accept = request.headers.get('accept') ?? ''
  const language = languageOf(request.headers.get('accept-language') ?? undefined)
  const view: View = { token, language, html: /\btext\/html\b/i.test(accept) }
  try {
    // Not read before the decision: another request could decide in between.
    const decides = request.method === 'POST' && (action === 'approve' || action === 'decline')
    if (ref !== undefined && decides) return await decide(sandbox, ref, action, query, view)

    const payment = ref === undefined ? undefined : await sandbox.find(ref)
    if (ref === undefined || payment === undefined) return missing(view)

    if (action === undefined) {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return problem('method_not_allowed', undefined, { allow: 'GET, HEAD' })
      return view.html || acceptsAnything(accept) ? htmlPage(payment, view) : json({ state: payment.state })
    }
    if (action !== 'approve' && action !== 'decline' && action !== 'hide') return missing(view)
    if (request.method !== 'POST') return problem('method_not_allowed', undefined, { allow: 'POST' })
    const ms = parseWaitMs(query.get('ms'))
    if (ms === undefined) return problem('body_invalid', '"ms" is a whole number from 0 to 600000.')
    sandbox.hide(ref, ms)
    return json({ hiddenMs: ms })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return problem('busy', 'It is not sure whether this was done. Ask again: nothing happens twice.', {
      'retry-after': '1',
    })
  }
}

type View = Readonly<{ token: string; language: Language; html: boolean }>

async function decide(
  sandbox: Sandbox,
  ref: string,
  action: 'approve' | 'decline',
  query: URLSearchParams,
  view: View,
): Promise<Response> {
  const mode = parseMode(query.get('mode') ?? 'plain')
  if (mode === undefined) return problem('body_invalid', '"mode" is not one that the sandbox knows.')
  const payment = await (action === 'approve' ? sandbox.approve(ref, mode) : sandbox.decline(ref))
  if (payment === undefined) return missing(view)

  const refused = payment.state !== (action === 'approve' ? 'captured' : 'void')
  if (view.html) {
    const back = payment.asked?.returnUrl
    if (back !== undefined) return new Response('', { status: 303, headers: { ...HEADERS, location: back } })
    return htmlPage(payment, view, refused ? 409 : 200)
  }
  if (!refused) return json({ state: payment.state })
  return problem('payment_settled', `The payment is ${payment.state}.`, {}, { state: payment.state })
}

function htmlPage(payment: SandboxPayment, view: View, status = 200): Response {
  return html(status, renderPayment(payment, view.token, view.language), payment.asked?.returnUrl)
}

function missing(view: View): Response {
  return view.html ? html(404, renderMissing(view.language), undefined) : problem('not_found')
}

function html(status: number, body: string, returnUrl: string | undefined): Response {
  return new Response(body, {
    status,
    headers: {
      ...HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy(returnUrl),
      vary: 'accept, accept-language',
    },
  })
}

function json(body: unknown): Response {
  return new Response(JSON.stringify(body), { headers: { ...HEADERS, 'content-type': 'application/json' } })
}

function problem(
  code: ProblemCode,
  detail?: string,
  headers: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, unknown>> = {},
): Response {
  const { status, title } = PROBLEMS[code]
  return new Response(JSON.stringify({ ...problemBody(code, detail ?? title), ...more }), {
    status,
    headers: { ...HEADERS, 'content-type': 'application/problem+json', ...headers },
  })
}

/** No Accept header, or one that takes anything. */
function acceptsAnything(accept: string): boolean {
  return accept === '' || accept.startsWith('*/*')
}
