/**
 * The buyer's page: its files, the call that tells it its buyer (its script can't read the cookie), and the demo's crowd, which it offers.
 * Where there is no demo, the crowd's state is `off` and starting it is not found.
 */

import type { SaleId } from '../../domain/ids.ts'
import type { DemoAnswer } from '../../wire/answers.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { calendarEntry } from '../calendar-entry.ts'
import type { EdgeContext } from '../edge-context.ts'
import { type Exchange, idParam, type Route, readQuery, route, uncached } from '../http/exchange.ts'
import { ProblemError, plainProblem } from '../http/problem-response.ts'
import { ASSETS_PATH, type PageFile, widgetHeaders } from '../pages.ts'

export function pageRoutes({
  pages,
  identity,
  buyers,
  widgetHosts,
  signInUrl,
  catalog,
  clock,
}: EdgeContext): readonly Route[] {
  // One page for all its addresses: which of them it shows, its script reads from the address bar.
  const page = async ({ request }: Exchange) => sendPage(request, (await pages()).buyer)
  return [
    ...['/', '/s/{sale}', '/orders', '/orders/{id}'].map(path => route({ method: 'GET', path }, page)),
    ...(widgetHosts === undefined ? [] : [route({ method: 'GET', path: '/challenge' }, widget(widgetHosts))]),
    route({ method: 'GET', path: '/s/{sale}/opening.ics' }, opening),
    route({ method: 'GET', path: `${ASSETS_PATH}{file}` }, asset),
    route({ method: 'GET', path: '/button.js' }, async ({ request }) => sendPage(request, (await pages()).button)),
    route(buyerCalls.session, session),
  ]

  function widget(hosts: readonly string[]) {
    const headers = widgetHeaders(hosts)
    return async ({ request }: Exchange) => {
      const { challenge } = await pages()
      return sendPage(request, { ...challenge, headers: { ...challenge.headers, ...headers } })
    }
  }

  /** For the buyer's own calendar. */
  async function opening(exchange: Exchange): Promise<Response> {
    const id = idParam(exchange, 'sale')
    const sale = await catalog.find(id)
    if (sale === undefined) return plainProblem('not_found')
    const { name, opensAtMs } = sale
    const url = new URL(exchange.request.url.replace(/\/opening\.ics.*$/, '')).href
    return new Response(calendarEntry({ id, name, opensAtMs, url }, clock.now()), {
      headers: {
        'content-type': 'text/calendar; charset=utf-8',
        'content-disposition': `attachment; filename="sale-${id}.ics"`,
        'cache-control': 'no-store',
      },
    })
  }

  async function asset({ request, params }: Exchange): Promise<Response> {
    const file = (await pages()).assets.get(params.file ?? '')
    return file === undefined ? plainProblem('not_found') : sendPage(request, file)
  }

  /** Without a session the answer is null, not an error. */
  async function session({ request }: Exchange): Promise<Response> {
    const buyer = await identity.buyer(request).catch((error: unknown) => {
      if (error instanceof ProblemError) return null
      throw error
    })
    const guests = buyers.issueGuest !== undefined
    return uncached({ buyer, guests, ...(signInUrl !== undefined && { signInUrl }) })
  }
}

/** A person with a browser sees a page that says so, in both languages, with a way back; every program gets a problem. */
export function lostPage({ pages }: Pick<EdgeContext, 'pages'>) {
  return (request: Request, path: string): Promise<Response> | undefined => {
    const accept = request.headers.get('accept') ?? ''
    if (request.method !== 'GET' || !accept.includes('text/html') || /^\/(?:api|assets|pay)(?:\/|$)/.test(path))
      return undefined
    return pages().then(({ buyer, ops }) => notFound(request, isBelow(path, '/ops') ? ops : buyer))
  }
}

const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)

function notFound(request: Request, { etag: _etag, ...file }: PageFile): Response {
  const sent = sendPage(new Request(request.url, { headers: withoutTag(request.headers) }), { ...file, etag: '' })
  const headers = new Headers(sent.headers)
  headers.delete('etag')
  headers.set('cache-control', 'no-store')
  return new Response(sent.body, { status: 404, headers })
}

function withoutTag(headers: Headers): Headers {
  const kept = new Headers(headers)
  kept.delete('if-none-match')
  return kept
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

/** @param bring starts the crowd; undefined where there is no demo sale */
export function demoRoutes(
  read: (sale: SaleId | undefined) => Promise<DemoAnswer>,
  bring: (sale: SaleId | undefined) => Promise<DemoAnswer | undefined>,
  { trusts, identity }: Pick<EdgeContext, 'trusts' | 'identity'>,
): readonly Route[] {
  return [
    route(buyerCalls.demo, async exchange => uncached(await read(readQuery(exchange, buyerCalls.demo.query).sale))),
    route(buyerCalls.bringCrowd, async exchange => {
      const { request } = exchange
      const { sale } = readQuery(exchange, buyerCalls.bringCrowd.query)
      if (!trusts(request) || (await read(sale)).crowd === 'off') throw noDemo()
      await identity.guest(request)
      const brought = await bring(sale)
      if (brought === undefined) throw noDemo()
      return uncached(brought, 202)
    }),
  ]
}

const noDemo = () => new ProblemError('not_found', 'There is no demo sale to bring a crowd to.')
