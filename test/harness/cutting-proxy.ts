/**
 * Stands between a server and its PostgreSQL and cuts connections at the worst moment: after a statement has been committed and before
 * its reply arrives, or before the statement reaches PostgreSQL at all. Listens on TCP, speaks to PostgreSQL's unix socket.
 *
 * Looks just far enough into the protocol to know which prepared statement is run (Bind) and when it is done (ReadyForQuery).
 * No encryption: on a loopback connection neither side asks for it.
 */

import { createConnection, createServer, type Server, type Socket } from 'node:net'

/** reply: PostgreSQL does it and says so to nobody. query: PostgreSQL never hears of it. */
export type Cut = 'reply' | 'query'

export class CuttingProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #socketPath: string
  #statement = ''
  #cuts: Cut[] = []
  #skip = 0
  #apart = false
  /** How many were cut so far. */
  made = 0

  private constructor(socketPath: string) {
    this.#socketPath = socketPath
    this.#server = createServer(socket => this.#accept(socket))
  }

  static async start(socketPath: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(socketPath)
    await new Promise<void>(listening => proxy.#server.listen(0, '127.0.0.1', listening))
    return proxy
  }

  port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    return address.port
  }

  /** Lets `skip` runs of the statement pass, then cuts one run after the other, a tried-again one counts too. */
  cut(statement: string, skip: number, cuts: readonly Cut[]): void {
    this.#statement = statement
    this.#skip = skip
    this.#cuts = [...cuts]
  }

  /** From now on nothing comes through, until `join`. */
  part(): void {
    this.#apart = true
    for (const socket of this.#sockets) socket.destroy()
  }

  join(): void {
    this.#apart = false
  }

  async stop(): Promise<void> {
    this.part()
    await new Promise<void>(closed => this.#server.close(() => closed()))
  }

  #accept(client: Socket): void {
    if (this.#apart) {
      client.destroy()
      return
    }
    const postgres = createConnection(this.#socketPath)
    let losingReply = false
    const cutOff = () => {
      client.destroy()
      postgres.destroy()
    }
    for (const socket of [client, postgres]) {
      this.#sockets.add(socket)
      socket.on('error', cutOff)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        cutOff()
      })
    }
    const fromClient = messages('startup first', (type, body) => {
      if (type !== 'B' || statementOf(body) !== this.#statement || this.#cuts.length === 0) return
      if (this.#skip > 0) {
        this.#skip -= 1
        return
      }
      this.made += 1
      if (this.#cuts.shift() === 'query') cutOff()
      else losingReply = true
    })
    const fromPostgres = messages('typed', type => {
      if (losingReply && type === 'Z') cutOff()
    })
    client.on('data', (chunk: Buffer) => {
      fromClient(chunk)
      if (!postgres.destroyed) postgres.write(chunk)
    })
    postgres.on('data', (chunk: Buffer) => {
      fromPostgres(chunk)
      if (!losingReply && !client.destroyed) client.write(chunk)
    })
  }
}

/** Splits a stream into the protocol's messages: a type byte and a length, except for the very first that a client sends. */
function messages(
  kind: 'startup first' | 'typed',
  hear: (type: string, body: Buffer) => void,
): (chunk: Buffer) => void {
  let kept = Buffer.alloc(0)
  let typeBytes = kind === 'typed' ? 1 : 0
  return chunk => {
    kept = Buffer.concat([kept, chunk])
    while (kept.length >= typeBytes + 4) {
      const end = typeBytes + kept.readUInt32BE(typeBytes)
      if (kept.length < end) return
      if (typeBytes === 1) hear(String.fromCharCode(kept[0] ?? 0), kept.subarray(5, end))
      kept = kept.subarray(end)
      typeBytes = 1
    }
  }
}

/** Bind: the portal's name, a zero, the statement's name, a zero, … */
function statementOf(body: Buffer): string {
  const start = body.indexOf(0) + 1
  return body.subarray(start, body.indexOf(0, start)).toString('utf8')
}
