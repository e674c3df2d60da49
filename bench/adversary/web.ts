/** Requests of many clients over a few connections to nginx, which believes this machine about where each of them comes from. */

import type { Clock } from '../../src/base/clock.ts'
import { Pool } from '../../src/rehearsal/client/pool.ts'

interface Asked {
  readonly from: string
  readonly bearer?: string
  readonly body?: unknown
}

export interface Answered {
  /** 0: no answer came. */
  readonly status: number
  readonly code: string
  readonly body: Readonly<Record<string, unknown>>
}

export class Web {
  readonly #pool: Pool
  readonly #host: string

  private constructor(pool: Pool, host: string) {
    this.#pool = pool
    this.#host = host
  }

  static async open(url: string, connections: number, clock: Clock): Promise<Web> {
    const { hostname, port, host } = new URL(url)
    const target = { host: hostname, port: Number(port) }
    return new Web(await Pool.open({ target, connections, clock, addressOf: () => undefined }), host)
  }

  call(method: 'GET' | 'POST', path: string, { from, bearer, body }: Asked): Promise<Answered> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const head = [
      `${method} ${path} HTTP/1.1`,
      `host: ${this.#host}`,
      `x-test-address: ${from}`,
      ...(bearer === undefined ? [] : [`authorization: Bearer ${bearer}`]),
      ...(method === 'GET' ? [] : [`content-length: ${Buffer.byteLength(text)}`]),
    ]
    const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
    return new Promise(resolve => {
      this.#pool.send({
        bytes,
        sentMs: 0,
        answered: answer => resolve(read(answer.status, answer.bytes.toString('utf8', answer.bodyAt))),
        lost: () => resolve({ status: 0, code: 'lost', body: {} }),
      })
    })
  }

  close(): void {
    this.#pool.close()
  }
}

function read(status: number, text: string): Answered {
  try {
    const body = JSON.parse(text) as Record<string, unknown>
    return { status, code: typeof body.code === 'string' ? body.code : '', body }
  } catch {
    return { status, code: '', body: {} }
  }
}
