/** The sandbox's pay page, where buyers of a test sale approve or decline. The sandbox itself makes the answers. */

import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import { type Exchange, type Route, route } from '../http/exchange.ts'

type Handle = (request: {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly accept: string | undefined
  readonly acceptLanguage: string | undefined
}) => Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }>

export function sandboxRoutes(handle: Handle): readonly Route[] {
  const page = async ({ request, url }: Exchange) => {
    const { status, headers, body } = await handle({
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      accept: request.headers.get('accept') ?? undefined,
      acceptLanguage: request.headers.get('accept-language') ?? undefined,
    })
    return new Response(body, { status, headers: { ...headers } })
  }
  const { payPage, approve, decline, hide } = operationsCalls
  return [payPage, approve, decline, hide].map(call => route(call, page))
}
