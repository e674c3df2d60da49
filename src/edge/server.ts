/**
 * The HTTP server: the only file that knows Bun. Listens, hands every request to `dispatch.ts`, and owns the live sockets (`live/live.ts`
 * says what is sent to them).
 *
 * What Bun 1.4.4 does by itself, as tried: slow headers and slow bodies end with the idle time, however they drip; a request with two
 * lengths, a bad header or headers above 16 KiB is answered 400 or 431, without a body and before we see it; a body that is not read
 * is thrown away as it comes, and one whose reader is busy is held back after 1 MiB, so neither grows the memory.
 */

import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import { createDispatch, type DispatchParts } from './dispatch.ts'
import { type AnsweringParts, createAnswering } from './http/answering.ts'
import { plainProblem, problem } from './http/problem-response.ts'
import { createRouter } from './http/router.ts'
import type { LiveState } from './live/socket.ts'
import { ROUTE_KEYS } from './operator-door.ts'
import { healthRoutes, type Readiness, type Scrape, scrapeResponse } from './routes/operations-routes.ts'

interface Address {
  readonly host: string
  readonly port: number
}

/** The setting that names the port. */
type ListenSetting = 'PORT' | 'METRICS_PORT'

const IDLE_S_MAX = 30
const SOCKET_IDLE_S_MAX = 60
const SOCKET_HEARD_BYTES_MAX = 1024
/** What may wait for a slow reader, on top of what the system's own buffers hold. */
const SOCKET_UNREAD_BYTES_MAX = 64 * 1024

export function startServer(parts: Address & DispatchParts & AnsweringParts) {
  const { live, log } = parts
  const answering = createAnswering(parts)
  const dispatch = createDispatch(parts, answering)
  const operators = (request: Request) => dispatch.operators(request) as Promise<Response>
  const server = listen<LiveState>('PORT', parts, {
    routes: Object.fromEntries(ROUTE_KEYS.map(key => [key, operators])),
    // Bun's own refusal has no body: dispatch and those who read a body refuse more than 16 KiB themselves.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: (request, self) => dispatch.everybody(request, self) as Response,
    error: error => failed(log, error, 'answer_crashed', 'unexpected error outside a handler'),
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
    /** The address at the other end of the connection; empty when it is gone. */
    peerOf: (request: Request) => server.requestIP(request)?.address ?? '',
    /** From now on every answer asks the client to close the connection; then stops listening and waits for what is in flight. */
    async stop(): Promise<void> {
      answering.drain()
      // An open socket would keep the server from ever being stopped.
      live?.drain()
      await server.stop(false)
    },
    /** Ends what is still open. */
    async kill(): Promise<void> {
      await server.stop(true)
    },
  }
}

/** Before the ledger is there: the process lives, is not ready, and whatever else is asked is busy. */
export function startLobby(parts: Address & { readonly readiness: Readiness; readonly log: Log }) {
  const find = createRouter(healthRoutes(parts.readiness))
  const server = listen('PORT', parts, {
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch(request) {
      const url = new URL(request.url)
      const match = find(request.method, url.pathname)
      return match.kind === 'found'
        ? match.handle({ request, params: match.params, requestId: '' })
        : plainProblem('busy')
    },
    error: error => failed(parts.log, error, 'answer_crashed', 'unexpected error outside a handler'),
  })
  return { url: urlOf(parts.host, server.port), stop: () => server.stop(true) }
}

/** Only metrics, without a token, for those who can reach the port. */
export function startMetricsServer(parts: Address & { readonly scrape: Scrape; readonly log: Log }) {
  const server = listen('METRICS_PORT', parts, {
    maxRequestBodySize: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/metrics') return plainProblem('not_found')
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return problem('method_not_allowed', { headers: { allow: 'GET, HEAD' } })
      return scrapeResponse(parts.scrape, request)
    },
    error: error => failed(parts.log, error, 'scrape_failed', 'metrics could not be read'),
  })
  return { url: urlOf(parts.host, server.port), stop: () => server.stop(true) }
}

function failed(log: Log, error: Error, event: 'answer_crashed' | 'scrape_failed', message: string): Response {
  log.error({ event, err: error }, message)
  return plainProblem('internal')
}

/** An address on which the server can't listen is a Fault with one line for the operator. */
function listen<Data>(
  setting: ListenSetting,
  { host, port }: Address,
  options: Parameters<typeof Bun.serve<Data>>[0],
): Bun.Server<Data> {
  try {
    // Bun would share the port with another server of its own, and the kernel deal the connections to either.
    const more = { hostname: host, port, reusePort: false, idleTimeout: IDLE_S_MAX, development: false }
    return Bun.serve<Data>({ ...options, ...more } as typeof options)
  } catch (error) {
    const { code, message = '' } = error as { code?: unknown; message?: string }
    if (typeof code !== 'string') throw error
    throw new Fault('address_unusable', whyUnusable(code, setting, { host, port }, message), { cause: error })
  }
}

/** By the system's error code. */
function whyUnusable(code: string, setting: ListenSetting, { host, port }: Address, message: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `${setting}: ${port} is in use on ${host}: stop the process that listens there, or choose another port`
    case 'EACCES':
      return `${setting}: this account may not listen on ${port}: choose a port from 1024 on, or give the account the right`
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
    case 'ENOTFOUND':
      return `${setting === 'PORT' ? 'HOST' : 'METRICS_HOST'}: ${host} is not an address of this machine: use one of its own, or 0.0.0.0 for all of them`
    default:
      return `${setting}: the server can not listen on ${host}:${port}: ${message}`
  }
}

function urlOf(host: string, port: number | undefined): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
