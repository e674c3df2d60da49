/**
 * From a request to its answer: orders by their own short way, the live connection by an upgrade, everything else by the router. Does not
 * know what listens.
 */

import { REQUEST_ID_HEADER } from '../telemetry/access-log.ts'
import { buyerCalls } from '../wire/calls/buyer-calls.ts'
import type { Answering, Passage } from './http/answering.ts'
import { BODY_BYTES_MAX, declaredBytes, type Route } from './http/exchange.ts'
import { plainProblem, problem } from './http/problem-response.ts'
import { createRouter } from './http/router.ts'
import type { Live } from './live/live.ts'
import type { LiveState } from './live/socket.ts'
import { isOperatorPath } from './operator-door.ts'
import { createOrderAddresses, pathOf } from './order-addresses.ts'

export interface DispatchParts {
  readonly routes: readonly Route[]
  readonly order: (request: Request, sale: string, item: string) => Response | Promise<Response>
  readonly live?: Live
  /** What a browser gets at an address that does not exist; undefined: a program asks, which gets a problem. */
  readonly lost?: (request: Request, path: string) => Promise<Response> | undefined
}

/** Turns connections into sockets. */
interface Upgrader {
  upgrade(request: Request, options: { data: LiveState; headers: Record<string, string> }): boolean
}

const ORDER_ROUTE = buyerCalls.takeOrder.path
const LIVE_PATH = buyerCalls.live.path
/** The label of answers without a route: requests can't make labels by inventing addresses. */
const NO_ROUTE = 'other'

/** In the same words as `deploy/nginx/stampede-site.inc`. */
const MISREAD = 'The path must have no backslash and no "." or ".." segment.'

export function createDispatch(parts: DispatchParts, answering: Answering) {
  const { routes, live } = parts
  const notHere = () => plainProblem('not_found')
  const find = createRouter([
    ...routes,
    { method: 'POST', path: ORDER_ROUTE, handle: notHere },
    ...(live === undefined ? [] : [{ method: 'GET', path: LIVE_PATH, handle: notHere } as const]),
  ])
  const orderMeter = answering.meterOf('POST', ORDER_ROUTE)
  const otherMeter = answering.meterOf('any', NO_ROUTE)
  for (const { method, path } of routes) answering.meterOf(method, path)
  const orderAt = createOrderAddresses()
  /** The last one that makes a URL: nearly all requests name the same, and parsing an address costs as much as finding its route. */
  let knownHost = ''

  return { everybody, operators }

  /** A request whose address, as it was sent, is not one of the operators'. */
  function everybody(request: Request, upgrader: Upgrader): Response | Promise<Response | undefined> {
    const { url } = request
    const address = orderAt(url)
    if (address !== undefined && request.method === 'POST') return order(request, address.sale, address.item)
    const path = pathOf(url)
    const passage = answering.begin(request, NO_ROUTE, otherMeter)
    const opens = live !== undefined && path === LIVE_PATH && request.method === 'GET'
    if (opens) return answering.settle(passage, open(live, passage, upgrader))
    return answering.settle(passage, isOperatorPath(path) ? misread() : routed(passage, path))
  }

  /** A request whose address, as it was sent, is one of the operators' (`operator-door.ts`). */
  function operators(request: Request): Promise<Response | undefined> {
    const path = pathOf(request.url)
    const passage = answering.begin(request, NO_ROUTE, otherMeter)
    return answering.settle(passage, isOperatorPath(path) ? routed(passage, path) : misread())
  }

  /** The hot path. A refusal that is known at once costs no promise and no header of its own. */
  function order(request: Request, sale: string, item: string): Response | Promise<Response | undefined> {
    const fromMs = answering.refusedFrom()
    let answer: Response | Promise<Response>
    try {
      answer = parts.order(request, sale, item)
    } catch (error) {
      return answering.fail(answering.begin(request, ORDER_ROUTE, orderMeter), error)
    }
    if (!(answer instanceof Promise)) return answering.refused(request, ORDER_ROUTE, orderMeter, answer, fromMs)
    return answering.settle(answering.begin(request, ORDER_ROUTE, orderMeter), answer)
  }

  function namesHost(request: Request): boolean {
    const host = request.headers.get('host')
    if (host === null || !isHost(host)) return false
    if (host !== knownHost && !URL.canParse(request.url)) return false
    knownHost = host
    return true
  }

  async function misread(): Promise<Response> {
    return problem('body_invalid', { detail: MISREAD, more: { field: 'path' } })
  }

  async function routed(passage: Passage, path: string): Promise<Response> {
    const { request, requestId } = passage
    if (!namesHost(request))
      return problem('body_invalid', { detail: '"Host" is not a host.', more: { field: 'host' } })
    const match = find(request.method, path)
    if (match.kind === 'missing')
      return parts.lost?.(request, path) ?? problem('not_found', { detail: 'There is nothing at this address.' })
    if (match.kind === 'wrong_method') return problem('method_not_allowed', { headers: { allow: match.allow } })
    passage.route = match.path
    passage.meter = answering.meterOf(request.method, match.path)
    if (declaredBytes(request) > (match.bytesMax ?? BODY_BYTES_MAX)) return plainProblem('body_too_large')
    return match.handle({ request, params: match.params, requestId })
  }

  /** Nothing is awaited between admitting a socket and counting it, so the bound on sockets is exact. */
  async function open(to: Live, passage: Passage, upgrader: Upgrader): Promise<Response | undefined> {
    passage.route = LIVE_PATH
    passage.meter = answering.meterOf('GET', LIVE_PATH)
    const admitted = await to.admit(passage.request)
    if (admitted instanceof Response) return admitted
    const headers = { ...admitted.headers, [REQUEST_ID_HEADER]: passage.requestId }
    if (upgrader.upgrade(passage.request, { data: admitted.state, headers })) return undefined
    return problem('body_invalid', { detail: 'This is not a WebSocket handshake of version 13.' })
  }
}

/** Bun joins `Host` and the path as they come: a host with a slash in it would move the path, and some are no part of any URL. */
function isHost(host: string): boolean {
  return /^[\w.:[\]-]+$/.test(host)
}
