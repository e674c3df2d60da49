/** A shop's receiver of webhooks: a real HTTP or HTTPS server that answers, hangs, redirects, or dies and comes back on the same port. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Playground } from './playground.ts'

export interface Received {
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  readonly path: string
  /** The TLS server name that the client asked for. */
  readonly serverName: string | undefined
}

/** What the receiver does with a request; without an answer it hangs. */
type Answering = (received: Received, response: http.ServerResponse) => void

interface Certificate {
  readonly cert: string
  readonly key: string
}

export const answer =
  (status: number, body = '', headers: Record<string, string> = {}): Answering =>
  (_, response) =>
    void response.writeHead(status, headers).end(body)
export const hang: Answering = () => {}

export class WebhookReceiver {
  readonly received: Received[] = []
  answering: Answering
  readonly #server: http.Server
  #port = 0

  constructor(answering: Answering, certificate?: Certificate) {
    this.answering = answering
    const listen: http.RequestListener = (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => void chunks.push(chunk))
      request.on('end', () => {
        const { servername } = request.socket as { servername?: string }
        const one = {
          headers: request.headers,
          body: Buffer.concat(chunks).toString('utf8'),
          path: request.url ?? '',
          serverName: servername,
        }
        this.received.push(one)
        this.answering(one, response)
      })
    }
    this.#server = certificate === undefined ? http.createServer(listen) : https.createServer(certificate, listen)
  }

  /** Listens; again on the same port after `die`. */
  async live(): Promise<void> {
    await new Promise<void>(resolve => void this.#server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Connections break, and no new one is accepted. */
  async die(): Promise<void> {
    const closed = new Promise<void>(resolve => void this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await closed
  }

  get port(): number {
    return this.#port
  }

  url(path = '/hook', host = '127.0.0.1'): string {
    return `${this.#server instanceof https.Server ? 'https' : 'http'}://${host}:${this.#port}${path}`
  }
}

export async function openReceiver(
  playground: Playground,
  answering: Answering,
  certificate?: Certificate,
): Promise<WebhookReceiver> {
  const receiver = new WebhookReceiver(answering, certificate)
  await receiver.live()
  playground.onUndo(() => receiver.die().catch(() => {}))
  return receiver
}

/** Signed by itself, for this name only. */
export function makeCertificate(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-cert-'))
  try {
    const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') }
    const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    const named = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
    execFileSync('openssl', ['req', ...made, ...named, '-keyout', files.key, '-out', files.cert], { stdio: 'ignore' })
    return { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
