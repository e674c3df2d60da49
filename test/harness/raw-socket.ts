/**
 * One TCP connection of a client that may misbehave: bytes as they are, when they are, from which of our own addresses, read or not
 * read, ended politely or not. Also asks whole requests, one after the other, for tests that need to know which connection carried what.
 * Never rejects for a connection that breaks: whoever is rude expects that.
 */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Playground } from './playground.ts'
import { within } from './until.ts'

const ANSWER_MS_MAX = 60_000

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface RawSocketOptions {
  /** Out of 127/8, all of which is ours. */
  readonly from?: string
  /** Never reads what comes. */
  readonly deaf?: boolean
}

export class RawSocket {
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>
  isClosed = false
  bytesHeard = 0
  /** The beginning of what was heard first. */
  #first = ''
  readonly #heard = Promise.withResolvers<void>()
  readonly #socket: Socket
  #pending: ((answer: RawAnswer | undefined) => void) | undefined
  #kept = ''

  private constructor(socket: Socket, deaf: boolean) {
    this.#socket = socket
    socket.on('error', () => {})
    const closed = Promise.withResolvers<void>()
    this.closed = closed.promise
    socket.on('close', () => {
      this.isClosed = true
      this.#settle(undefined)
      this.#heard.resolve()
      closed.resolve()
    })
    if (deaf) socket.pause()
    else socket.on('data', (chunk: Buffer) => this.#hear(chunk))
  }

  /** Opens a connection; a server that does not take it is an error. */
  static async open(playground: Playground, url: string, options: RawSocketOptions = {}): Promise<RawSocket> {
    const { hostname, port } = new URL(url)
    const { from, deaf = false } = options
    const socket = connect({ host: hostname, port: Number(port), ...(from !== undefined && { localAddress: from }) })
    playground.onUndo(() => socket.destroy())
    const raw = new RawSocket(socket, deaf)
    await within('a connection', ANSWER_MS_MAX, once(socket, 'connect'))
    return raw
  }

  send(bytes: string | Uint8Array): void {
    if (!this.isClosed) this.#socket.write(bytes)
  }

  /** Sends one request and waits for the whole answer; undefined when the connection ends first. One at a time. */
  ask(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body = '',
  ): Promise<RawAnswer | undefined> {
    if (this.#pending !== undefined) throw new Error('the connection has an answer pending')
    if (this.isClosed) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<RawAnswer | undefined>()
    this.#pending = resolve
    this.send(requestText(method, path, { ...headers, 'content-length': String(Buffer.byteLength(body)) }) + body)
    return promise
  }

  /** Resolves when the first byte of an answer has come, or none will. */
  firstByte(): Promise<void> {
    return within('the first byte of an answer', ANSWER_MS_MAX, this.#heard.promise)
  }

  /** Of the first answer; empty when there was none. */
  statusLine(): string {
    return this.#first.split('\r\n')[0] ?? ''
  }

  /** Gone, politely enough for the network: what was sent still arrives. */
  hangUp(): void {
    this.#socket.destroy()
  }

  /** Gone with a reset: what was sent may be lost, and the server's writing fails. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  #hear(chunk: Buffer): void {
    if (this.bytesHeard === 0) this.#first = chunk.toString('latin1', 0, 100)
    this.bytesHeard += chunk.length
    this.#heard.resolve()
    if (this.#pending === undefined) return
    this.#kept += chunk.toString('latin1')
    const bodyAt = this.#kept.indexOf('\r\n\r\n') + 4
    if (bodyAt < 4) return
    const [statusLine = '', ...lines] = this.#kept.slice(0, bodyAt - 4).split('\r\n')
    const headers = new Headers(
      lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
    )
    const length = Number(headers.get('content-length') ?? 0)
    if (this.#kept.length < bodyAt + length) return
    const text = Buffer.from(this.#kept.slice(bodyAt, bodyAt + length), 'latin1').toString('utf8')
    this.#kept = this.#kept.slice(bodyAt + length)
    this.#settle({ status: Number(statusLine.split(' ')[1]), headers, text })
  }

  #settle(answer: RawAnswer | undefined): void {
    const pending = this.#pending
    this.#pending = undefined
    pending?.(answer)
  }
}

/** The head of a request, with the empty line that ends it. */
export function requestText(method: string, path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\nhost: shop.test\r\n${lines.join('')}\r\n`
}
