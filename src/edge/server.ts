/**
 * The HTTP server: the only file that knows Bun. Takes the hot path apart by itself, hands everything else to the router, and turns
 * whatever is thrown into an answer: a problem as it is, a fault into "busy", anything else into a 500 with a request id and no detail.
 * Counts and times every answer by the template of its route. Owns the live sockets (`live/live.ts` says what they are told).
 *
 * What Bun 1.4.4 does by itself, as tried: slow headers and slow bodies end with the idle time, however they drip; a request with two
 * lengths, a bad header or headers above 16 KiB is answered 400 or 431, without a body and before we see it; a body that nobody reads
 * is thrown away as it comes, and one whose reader is busy is held back after 1 MiB, so neither grows the memory.
 */

import { type Clock, systemClock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { type Meters, noMeters, type RouteMeter } from '../base/meters.ts'
import type { Random } from '../base/random.ts'
import { type AccessLog, createAccessLog, createRequestIds, REQUEST_ID_HEADER } from '../telemetry/access-log.ts'
import type { Browsers } from './browsers.ts'
import type { Exchange, Route } from './http/exchange.ts'
import { ProblemError, plainProblem, problem } from './http/problem-response.ts'
import { createRouter } from './http/router.ts'
import { LIVE_PATH, type Live } from './live/live.ts'
import type { LiveState } from './live/socket.ts'
import { createOrderAddresses, pathOf } from './order-addresses.ts'
import { type Scrape, scrapeResponse } from './routes/metrics-routes.ts'

interface ServerParts {
  readonly host: string
  readonly port: number
  readonly routes: readonly Route[]
  readonly order: (request: Request, sale: string, item: string) => Response | Promise<Response>
  readonly clock?: Clock
  readonly log: Log
  readonly random: Random
  readonly meters?: Meters
  readonly live?: Live
  /** What browsers need to hear, put on every answer. */
  readonly applyHeaders?: Browsers['applyHeaders']
}

interface RunningServer {
  /** The address of whoever holds the other end of the connection; empty when it is gone. */
  peerOf(request: Request): string
  readonly url: string
  /** From now on every answer asks the client to close the connection; then stops listening and waits for what is in flight. */
  stop(): Promise<void>
  /** Ends what is still open. */
  kill(): Promise<void>
}

/** A body that says it is longer is refused before it is read. */
const BODY_BYTES_MAX = 16 * 1024
/** Of a body that is refused, as much is still taken in, so that its sender hears the answer; beyond that the connection is closed. */
const BODY_BYTES_DISCARDED_MAX = 1024 * 1024
const IDLE_S_MAX = 30
/** Reading the clock twice costs more than a cheap refusal's counting: one in so many is timed. A power of two. */
const REFUSALS_PER_TIMED = 64

const SOCKET_IDLE_S_MAX = 60
const SOCKET_HEARD_BYTES_MAX = 1024
/** What may wait for a slow reader, on top of what the system's own buffers hold. */
const SOCKET_UNREAD_BYTES_MAX = 64 * 1024

const ORDER_ROUTE = '/api/sales/{sale}/items/{item}/orders'
/** What is answered without a route: nobody can make labels by inventing addresses. */
const NO_ROUTE = 'other'

/** One request on its way to its answer. */
interface Passage {
  readonly request: Request
  readonly requestId: string
  readonly fromMs: number
  route: string
  meter: RouteMeter
}

export function startServer(parts: ServerParts): RunningServer {
  const { clock = systemClock, log, live, meters = noMeters } = parts
  const find = createRouter([
    ...parts.routes,
    { method: 'POST', path: ORDER_ROUTE, handle: () => plainProblem('not_found') },
    ...(live === undefined
      ? []
      : [{ method: 'GET', path: LIVE_PATH, handle: () => plainProblem('not_found') } as const]),
  ])
  const requestIds = createRequestIds(parts.random)
  const access: AccessLog = createAccessLog(log)
  const orderMeter = meters.route('POST', ORDER_ROUTE)
  const otherMeter = meters.route('any', NO_ROUTE)
  const meterOf = createMeterOf(meters, parts.routes)
  const orderAt = createOrderAddresses()
  let draining = false
  let refusals = 0

  function handle(request: Request): Response | Promise<Response | undefined> {
    const { url } = request
    const address = orderAt(url)
    if (address !== undefined && request.method === 'POST') return order(request, address.sale, address.item)
    const path = pathOf(url)
    const passage = begin(request, NO_ROUTE, otherMeter)
    if (live !== undefined && path === LIVE_PATH && request.method === 'GET') return open(live, passage)
    return route(passage, path)
  }

  /** The hot path. A refusal that is known at once costs no promise, no header of its own and, most of the time, no look at the clock. */
  function order(request: Request, sale: string, item: string): Response | Promise<Response> {
    const timed = (refusals & (REFUSALS_PER_TIMED - 1)) === 0
    const fromMs = timed ? clock.elapsed() : 0
    let answer: Response | Promise<Response>
    try {
      answer = parts.order(request, sale, item)
    } catch (error) {
      const passage = begin(request, ORDER_ROUTE, orderMeter)
      return finish(passage, toResponse(error, passage))
    }
    if (answer instanceof Promise) return orderLater(begin(request, ORDER_ROUTE, orderMeter), answer)
    refusals += 1
    const ms = timed ? clock.elapsed() - fromMs : undefined
    orderMeter.answered(answer.status, ms)
    if (access.refusalDue()) {
      const requestId = requestIds(request.headers.get(REQUEST_ID_HEADER))
      access.write({ requestId, method: 'POST', route: ORDER_ROUTE, status: answer.status, ms })
    }
    if (draining) answer.headers.set('connection', 'close')
    return parts.applyHeaders?.(request, answer) ?? answer
  }

  async function orderLater(passage: Passage, answer: Promise<Response>): Promise<Response> {
    try {
      return finish(passage, await answer)
    } catch (error) {
      return finish(passage, toResponse(error, passage))
    }
  }

  async function route(passage: Passage, path: string): Promise<Response> {
    try {
      return finish(passage, await answerBy(passage, path))
    } catch (error) {
      return finish(passage, toResponse(error, passage))
    }
  }

  function answerBy(passage: Passage, path: string): Response | Promise<Response> {
    const { request, requestId } = passage
    const url = isHost(request.headers.get('host')) ? URL.parse(request.url) : null
    if (url === null) return problem('body_invalid', { detail: '"Host" is not a host.', more: { field: 'host' } })
    const match = find(request.method, path)
    if (match.kind === 'missing') return problem('not_found', { detail: 'There is nothing at this address.' })
    if (match.kind === 'wrong_method') return problem('method_not_allowed', { headers: { allow: match.allow } })
    passage.route = match.path
    passage.meter = meterOf(request.method, match.path)
    if (declaredBytes(request) > BODY_BYTES_MAX) return plainProblem('body_too_large')
    const exchange: Exchange = { request, url, params: match.params, requestId }
    return match.handle(exchange)
  }

  /** Nothing is awaited between being let in and being counted, so the bound on sockets is exact. */
  async function open(to: Live, passage: Passage): Promise<Response | undefined> {
    passage.route = LIVE_PATH
    passage.meter = meterOf('GET', LIVE_PATH)
    try {
      const admitted = await to.admit(passage.request)
      if (admitted instanceof Response) return finish(passage, admitted)
      const headers = { ...admitted.headers, [REQUEST_ID_HEADER]: passage.requestId }
      if (server.upgrade(passage.request, { data: admitted.state, headers })) {
        passage.meter.answered(101, clock.elapsed() - passage.fromMs)
        return undefined
      }
      return finish(passage, problem('body_invalid', { detail: 'This is not a WebSocket handshake of version 13.' }))
    } catch (error) {
      return finish(passage, toResponse(error, passage))
    }
  }

  function begin(request: Request, routeOf: string, meter: RouteMeter): Passage {
    const requestId = requestIds(request.headers.get(REQUEST_ID_HEADER))
    return { request, requestId, fromMs: clock.elapsed(), route: routeOf, meter }
  }

  /** Every answer but the cheapest refusals leaves through here. */
  function finish({ request, requestId, fromMs, route: template, meter }: Passage, response: Response): Response {
    const { status, headers } = response
    const ms = clock.elapsed() - fromMs
    meter.answered(status, ms)
    if (access.due(status)) access.write({ requestId, method: request.method, route: template, status, ms })
    headers.set(REQUEST_ID_HEADER, requestId)
    if (draining || leavesTooMuch(request, status)) headers.set('connection', 'close')
    return parts.applyHeaders?.(request, response) ?? response
  }

  function toResponse(error: unknown, { request, requestId, route: template }: Passage): Response {
    if (error instanceof ProblemError) return error.toResponse()
    // Whoever hung up in the middle of a body hears nothing any more, and it is nobody's fault here.
    if (request.signal.aborted) return plainProblem('body_invalid')
    const about = { requestId, method: request.method, route: template, err: error }
    if (error instanceof Fault && error.retryable) {
      log.warn({ ...about, code: error.code }, 'answered busy')
      return plainProblem('busy')
    }
    log.error(about, 'unexpected error')
    return problem('internal', { detail: `Tell the shop this request id: ${requestId}.`, more: { requestId } })
  }

  const server = listen('PORT', parts, {
    idleTimeout: IDLE_S_MAX,
    // Bun's own refusal has no body: it is left to `answerBy` and to whoever reads a body, both of which know 16 KiB.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    fetch: request => handle(request) as Response,
    error(error) {
      log.error({ err: error }, 'unexpected error outside a handler')
      return plainProblem('internal')
    },
    websocket: {
      data: {} as LiveState,
      maxPayloadLength: SOCKET_HEARD_BYTES_MAX,
      backpressureLimit: SOCKET_UNREAD_BYTES_MAX,
      closeOnBackpressureLimit: true,
      idleTimeout: SOCKET_IDLE_S_MAX,
      sendPings: true,
      perMessageDeflate: false,
      open: socket => live?.opened(socket),
      message: socket => live?.heard(socket),
      close: socket => live?.closed(socket),
    },
  })
  live?.broadcastBy((topic, text) => server.publish(topic, text, false))

  return {
    url: urlOf(parts.host, server.port),
    peerOf: request => server.requestIP(request)?.address ?? '',
    async stop() {
      draining = true
      // An open socket would keep the server from ever being stopped.
      live?.drain()
      await server.stop(false)
    },
    async kill() {
      await server.stop(true)
    },
  }
}

/** Only metrics, for whoever can reach the port: no token, and nothing else to be had. */
export function startMetricsServer(parts: { host: string; port: number; scrape: Scrape; log: Log }) {
  const server = listen('METRICS_PORT', parts, {
    idleTimeout: IDLE_S_MAX,
    maxRequestBodySize: 0,
    development: false,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/metrics') return plainProblem('not_found')
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return problem('method_not_allowed', { headers: { allow: 'GET, HEAD' } })
      return scrapeResponse(parts.scrape)
    },
    error(error) {
      parts.log.error({ err: error }, 'the metrics could not be read')
      return plainProblem('internal')
    },
  })
  return { url: urlOf(parts.host, server.port), stop: () => server.stop(true) }
}

/** An address where nobody can listen is a Fault with one line for the operator. */
function listen<Data>(
  setting: 'PORT' | 'METRICS_PORT',
  { host, port }: { readonly host: string; readonly port: number },
  options: Parameters<typeof Bun.serve<Data>>[0],
): Bun.Server<Data> {
  try {
    // Bun would share the port with another server of its own, and the kernel deal the connections to either.
    return Bun.serve<Data>({ ...options, hostname: host, port, reusePort: false } as typeof options)
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string }
    if (typeof code !== 'string') throw error
    const why = UNHEARD[code]?.(setting, host, port) ?? `${setting}: nobody can listen on ${host}:${port}: ${message}`
    throw new Fault('address_unusable', why, { cause: error })
  }
}

const notHere = (_: string, host: string) =>
  `HOST: ${host} is not the address of this machine: use one of its own, or 0.0.0.0 for all of them`
/** By the system's error code. */
const UNHEARD: Readonly<Record<string, (setting: string, host: string, port: number) => string>> = {
  EADDRINUSE: (setting, host, port) =>
    `${setting}: ${port} is in use on ${host}: end who listens there, or choose another port`,
  EACCES: (setting, _host, port) =>
    `${setting}: this account may not listen on ${port}: choose a port from 1024 on, or give it the right`,
  EADDRNOTAVAIL: notHere,
  EINVAL: notHere,
  ENOTFOUND: notHere,
}

function urlOf(host: string, port: number | undefined): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Each route's meter, made at the start. */
function createMeterOf(meters: Meters, routes: readonly Route[]): (method: string, path: string) => RouteMeter {
  const known = new Map<string, RouteMeter>()
  const meterOf = (method: string, path: string) => {
    const key = `${method} ${path}`
    let meter = known.get(key)
    if (meter === undefined) {
      meter = meters.route(method, path)
      known.set(key, meter)
    }
    return meter
  }
  for (const { method, path } of routes) meterOf(method, path)
  return meterOf
}

/** Bun joins `Host` and the path as they come: a host with a slash in it would move the path, and some are no part of any URL. */
function isHost(host: string | null): boolean {
  return host !== null && /^[\w.:[\]-]+$/.test(host)
}

function declaredBytes(request: Request): number {
  return Number(request.headers.get('content-length') ?? 0)
}

/** The rest of the body is not worth taking in: it says it is long, or was found too long and does not say where it ends. */
function leavesTooMuch(request: Request, status: number): boolean {
  if (declaredBytes(request) > BODY_BYTES_DISCARDED_MAX) return true
  return status === 413 && request.headers.has('transfer-encoding')
}
