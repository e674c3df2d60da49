/** The buyer's page and its files, and the call that tells the page its buyer: its script can't read the cookie. */

import type { BuyerId } from '../../domain/ids.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { type Exchange, json, type Route, route } from '../http/exchange.ts'
import { ProblemError, plainProblem } from '../http/problem-response.ts'
import type { Identity } from '../identity.ts'
import { ASSETS_PATH, type PageFile, type Pages } from '../pages.ts'

interface PageRouteParts {
  readonly pages: Pages
  readonly identity: Identity
  /** Whether `POST /api/session` lets guests in. */
  readonly guests: boolean
}

export function pageRoutes({ pages, identity, guests }: PageRouteParts): readonly Route[] {
  // One page for all its addresses: which of them it shows, its script reads from the address bar.
  const page = ({ request }: Exchange) => sendPage(request, pages.buyer)
  return [
    { method: 'GET', path: '/', handle: page },
    { method: 'GET', path: '/s/{sale}', handle: page },
    { method: 'GET', path: '/orders', handle: page },
    { method: 'GET', path: '/orders/{id}', handle: page },
    { method: 'GET', path: `${ASSETS_PATH}{file}`, handle: asset },
    route(buyerCalls.session, session),
  ]

  function asset({ request, params }: Exchange): Response {
    const file = pages.assets.get(params.file ?? '')
    return file === undefined ? plainProblem('not_found') : sendPage(request, file)
  }

  /** Without a session the answer is null, not an error. */
  async function session({ request }: Exchange): Promise<Response> {
    return json({ buyer: (await buyerOf(request)) ?? null, guests }, 200, { 'cache-control': 'no-store' })
  }

  async function buyerOf(request: Request): Promise<BuyerId | undefined> {
    try {
      return await identity.buyer(request)
    } catch (error) {
      if (error instanceof ProblemError) return undefined
      throw error
    }
  }
}

export function sendPage(request: Request, { bytes, gzipped, etag, headers }: PageFile): Response {
  const given = request.headers.get('if-none-match')
  if (given?.split(',').some(tag => tag.trim() === etag))
    return new Response(null, { status: 304, headers: { ...headers, etag } })
  const zip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  return new Response(zip ? gzipped : bytes, {
    headers: { ...headers, etag, ...(zip && { 'content-encoding': 'gzip' }) },
  })
}
