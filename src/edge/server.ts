/**
 * The HTTP server: the only file that knows Bun. Takes the hot path apart by itself, hands everything else to the router, and turns
 * whatever is thrown into an answer: a problem as it is, a fault into "busy", anything else into a 500 with a request id and no detail.
 */

import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Exchange, Route } from './exchange.ts'
import { ProblemError, plainProblem, problem } from './problems.ts'
import { createRouter } from './router.ts'

interface ServerParts {
  readonly host: string
  readonly port: number
  readonly routes: readonly Route[]
  readonly order: (request: Request, sale: string, item: string) => Response | Promise<Response>
  readonly log: Log
  readonly random: Random
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

/** Bun's own limits would be 128 MB and 10 s. Whatever is above ours is refused before it is read. */
const BODY_BYTES_HARD_MAX = 1024 * 1024
const IDLE_S_MAX = 30

const ORDER_PATH = /^\/api\/sales\/([0-9]+)\/items\/([0-9]+)\/orders$/

export function startServer(parts: ServerParts): RunningServer {
  const find = createRouter([
    ...parts.routes,
    { method: 'POST', path: '/api/sales/{sale}/items/{item}/orders', handle: () => plainProblem('not_found') },
  ])
  let draining = false

  function handle(request: Request): Response | Promise<Response> {
    const url = request.url
    const from = url.indexOf('/', 8)
    const to = url.indexOf('?', from)
    const path = from < 0 ? '/' : to < 0 ? url.slice(from) : url.slice(from, to)
    if (request.method === 'POST') {
      const match = ORDER_PATH.exec(path)
      if (match !== null) {
        try {
          const answer = parts.order(request, match[1]!, match[2]!)
          return answer instanceof Promise ? answer.catch(error => toResponse(error, request, path)) : answer
        } catch (error) {
          return toResponse(error, request, path)
        }
      }
    }
    return route(request, path)
  }

  async function route(request: Request, path: string): Promise<Response> {
    try {
      const match = find(request.method, path)
      if (match.kind === 'missing') return problem('not_found', { detail: 'There is nothing at this address.' })
      if (match.kind === 'wrong_method') return problem('method_not_allowed', { headers: { allow: match.allow } })
      const exchange: Exchange = { request, url: new URL(request.url), params: match.params, requestId: '' }
      return await match.handle(exchange)
    } catch (error) {
      return toResponse(error, request, path)
    }
  }

  function toResponse(error: unknown, request: Request, path: string): Response {
    if (error instanceof ProblemError) return error.toResponse()
    if (error instanceof Fault && error.retryable) {
      parts.log.warn({ method: request.method, path, code: error.code, err: error }, 'answered busy')
      return plainProblem('busy')
    }
    const requestId = Buffer.from(parts.random.bytes(12)).toString('base64url')
    parts.log.error({ method: request.method, path, requestId, err: error }, 'unexpected error')
    return problem('internal', { detail: `Tell the shop this request id: ${requestId}.`, more: { requestId } })
  }

  const server = Bun.serve({
    hostname: parts.host,
    port: parts.port,
    idleTimeout: IDLE_S_MAX,
    maxRequestBodySize: BODY_BYTES_HARD_MAX,
    development: false,
    fetch(request) {
      if (!draining) return handle(request)
      return closing(handle(request))
    },
    error(error) {
      parts.log.error({ err: error }, 'unexpected error outside a handler')
      return plainProblem('internal')
    },
  })

  return {
    url: `http://${parts.host.includes(':') ? `[${parts.host}]` : parts.host}:${server.port}`,
    peerOf: request => server.requestIP(request)?.address ?? '',
    async stop() {
      draining = true
      await server.stop(false)
    },
    async kill() {
      await server.stop(true)
    },
  }
}

async function closing(answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer
  response.headers.set('connection', 'close')
  return response
}
