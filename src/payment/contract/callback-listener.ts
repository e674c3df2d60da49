/**
 * For tests: a real HTTP listener on a port of its own that takes callbacks, keeps them as they came, and answers as it is told.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Delivery {
  readonly rawBody: Uint8Array
  readonly headers: ReadonlyMap<string, string>
  readonly method: string
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly location?: string
}

interface CallbackListener {
  readonly url: string
  readonly deliveries: readonly Delivery[]
  /** What the next callbacks are answered with, one each; then, and from the start, it is the last one of `answerWith`. */
  answerWith(...answers: readonly Answer[]): void
  /** The most requests that were open at the same time. */
  peak(): number
  /** From now on answers wait until `letGo`. */
  hold(): void
  letGo(): void
  close(): Promise<void>
}

export async function listenForCallbacks(acknowledgement: { readonly body: string }): Promise<CallbackListener> {
  const deliveries: Delivery[] = []
  let answers: readonly Answer[] = [{ status: 200, body: acknowledgement.body }]
  let held: PromiseWithResolvers<void> | undefined
  let open = 0
  let peak = 0

  const server = createServer(async (request, response) => {
    open += 1
    peak = Math.max(peak, open)
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const headers = new Map(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    deliveries.push({ rawBody: new Uint8Array(Buffer.concat(chunks)), headers, method: request.method ?? '' })
    await held?.promise
    const { status, body, location } = answers[0]!
    if (answers.length > 1) answers = answers.slice(1)
    open -= 1
    response.writeHead(status, { 'content-type': 'text/plain', ...(location && { location }) }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    deliveries,
    answerWith(...next) {
      answers = next
    },
    peak: () => peak,
    hold() {
      held ??= Promise.withResolvers()
    },
    letGo() {
      held?.resolve()
      held = undefined
    },
    close() {
      held?.resolve()
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}
