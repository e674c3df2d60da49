/**
 * A crowd in a waiting line that does not give up: many requests over few connections to several servers, each repeated until it has an answer that counts, whatever
 * happens to the servers meanwhile. A connection that ends goes to another server.
 */

import { systemClock } from '../../src/base/clock.ts'
import { type Answer, Connection } from '../../src/rehearsal/client/connection.ts'
import { buyerToken } from './money.ts'

export interface CrowdAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** When it was first asked, and when answered. */
  readonly sentMs: number
  readonly answeredMs: number
}

interface CrowdCall {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly path: string
}

const CONNECTIONS = 128
const BREATH_MS = 20
/** A server that was killed while it had the question. */
const ANSWER_MS_MAX = 30_000

/** @param urlOf the address of a server that runs, a different one each time */
export async function askAll(
  urlOf: () => string,
  call: CrowdCall,
  buyers: readonly string[],
  onAnswer: (answered: number) => void = () => {},
): Promise<CrowdAnswer[]> {
  const answers: CrowdAnswer[] = new Array(buyers.length)
  let next = 0
  let answered = 0
  async function work(): Promise<void> {
    const line = new Caller(urlOf, call)
    while (next < buyers.length) {
      const at = next++
      answers[at] = await line.ask(buyers[at]!)
      answered += 1
      onAnswer(answered)
    }
    line.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return answers
}

class Caller {
  readonly #urlOf: () => string
  readonly #call: CrowdCall
  #connection: Connection | undefined
  #answer: PromiseWithResolvers<Answer | undefined> | undefined

  constructor(urlOf: () => string, call: CrowdCall) {
    this.#urlOf = urlOf
    this.#call = call
  }

  async ask(buyer: string): Promise<CrowdAnswer> {
    const request = requestOf(this.#call, buyer)
    const sentMs = systemClock.elapsed()
    for (;;) {
      const answer = await this.#try(request)
      if (answer !== undefined && answer.status !== 503) {
        const { status, bytes, bodyAt } = answer
        const text = bytes.toString('utf8', bodyAt)
        return { status, body: text === '' ? {} : JSON.parse(text), sentMs, answeredMs: systemClock.elapsed() }
      }
      await systemClock.sleep(BREATH_MS)
    }
  }

  close(): void {
    this.#connection?.close()
  }

  /** Undefined: no answer. */
  async #try(request: Buffer): Promise<Answer | undefined> {
    try {
      this.#connection ??= await this.#open()
    } catch {
      return undefined
    }
    const asked = Promise.withResolvers<Answer | undefined>()
    this.#answer = asked
    const late = setTimeout(() => this.#connection?.close(), ANSWER_MS_MAX)
    this.#connection.send(request)
    const answer = await asked.promise
    clearTimeout(late)
    return answer
  }

  #open(): Promise<Connection> {
    const { hostname, port } = new URL(this.#urlOf())
    return Connection.open(
      { host: hostname, port: Number(port) },
      (_, answer) => this.#answer?.resolve(answer),
      () => {
        this.#connection = undefined
        this.#answer?.resolve(undefined)
      },
    )
  }
}

function requestOf({ method, path }: CrowdCall, buyer: string): Buffer {
  const body = method === 'POST' ? '{}' : ''
  const head = `${method} ${path} HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer ${buyerToken(buyer)}\r\n`
  return Buffer.from(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`, 'latin1')
}
