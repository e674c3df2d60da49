/**
 * One keep-alive connection with at most one request outstanding: whole request bytes go in, status and body come out. Reads the part of
 * HTTP/1.1 that our server uses (status line, content-length) and closes the connection on anything else.
 * Does not pipeline (Bun closes a connection that gets a second request before the first answer), reconnect or time out.
 *
 * States: idle → waiting (request sent) → idle … → closed.
 */

import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'

export interface Target {
  readonly host: string
  readonly port: number
  /** Over TLS. */
  readonly secure?: boolean
}

/** The body is not copied out: on the hot path the copy would be garbage. */
export interface Answer {
  readonly status: number
  readonly bytes: Buffer
  readonly bodyAt: number
}

type OnAnswer = (connection: Connection, answer: Answer) => void

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i
const NO_BODY = new Set([204, 304])

export class Connection {
  readonly #socket: Socket
  readonly #onAnswer: OnAnswer
  #kept: Buffer | undefined

  private constructor(socket: Socket, onAnswer: OnAnswer) {
    this.#socket = socket
    this.#onAnswer = onAnswer
  }

  /**
   * `onEnd` is called exactly once. `from`: the local address, out of 127/8 for a server on this machine. `giveUp` ends an opening that is
   * still under way, with its reason.
   */
  static open(
    target: Target,
    onAnswer: OnAnswer,
    onEnd: (connection: Connection) => void,
    from?: string,
    giveUp?: AbortSignal,
  ): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const where = { host: target.host, port: target.port, ...(from !== undefined && { localAddress: from }) }
      const socket = target.secure
        ? connectSecurely({ ...where, ...(isIP(target.host) === 0 && { servername: target.host }) })
        : connect({ ...where, noDelay: true })
      const connection = new Connection(socket, onAnswer)
      let failure: Error | undefined
      socket.on('error', error => {
        failure = error
      })
      const leave = () => {
        reject(giveUp?.reason)
        socket.destroy()
      }
      giveUp?.addEventListener('abort', leave, { once: true })
      socket.once(target.secure ? 'secureConnect' : 'connect', () => {
        giveUp?.removeEventListener('abort', leave)
        resolve(connection)
      })
      socket.on('data', chunk => connection.#read(chunk as Buffer))
      socket.on('close', () => {
        giveUp?.removeEventListener('abort', leave)
        reject(failure ?? new Error('the connection was closed before it was open'))
        onEnd(connection)
      })
    })
  }

  send(request: Buffer): void {
    this.#socket.write(request)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    const bytes = this.#kept === undefined ? chunk : Buffer.concat([this.#kept, chunk])
    this.#kept = bytes
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0) return
    const status = (bytes[9]! - 48) * 100 + (bytes[10]! - 48) * 10 + (bytes[11]! - 48)
    const bodyAt = headEnd + 4
    const length = NO_BODY.has(status) ? '0' : LENGTH.exec(bytes.toString('latin1', 0, headEnd))?.[1]
    if (length === undefined) {
      this.#socket.destroy(new Error(`an answer of status ${status} without content-length`))
      return
    }
    if (bytes.length < bodyAt + Number(length)) return
    this.#kept = undefined
    this.#onAnswer(this, { status, bytes, bodyAt })
  }
}
