/**
 * The least that a server can do: it answers every request with the same "sold out", without reading any of it. A rehearsal sends its crowd there too:
 * what client, kernel and machine need for that crowd is then known, and what is beyond it is Stampede's own.
 */

import { plainProblem } from './http/problem-response.ts'

/** On loopback, on a free port. */
export async function serveConstant(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const answer = plainProblem('sold_out')
  const init = { status: answer.status, headers: Object.fromEntries(answer.headers.entries()) }
  const body = await answer.text()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    idleTimeout: 120,
    fetch: () => new Response(body, init),
  })
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}
