/**
 * Mails from webhooks: nothing is kept here. A request is answered with 204 when the mail server has taken the mail (or there is none to send),
 * and with 503 when it has not: Stampede then tries again, for a day. So every event is mailed, and after a lost answer one may be mailed twice.
 *
 * The signature is checked over the bytes as they came. Behind it stands who sent it and when; a request without it gets 401 and does nothing.
 */

import http from 'node:http'
import { Webhook } from 'standardwebhooks'

const BODY_BYTES_MAX = 64 * 1024
/** Events whose mail is sent, of which is known here. A repeated one beyond them is mailed again, under the same Message-ID. */
const REMEMBERED_MAX = 10_000

/** @returns {Promise<{ port: number, close: () => Promise<void> }>} */
export async function receiveWebhooks({ host, port, secret, mailer, log }) {
  const webhook = new Webhook(secret)
  /** Event → its mail, sent or being sent. */
  const told = new Map()

  function tellOnce(event) {
    const telling = told.get(event.id) ?? mailer.tell(event)
    told.set(event.id, telling)
    // What failed is forgotten, so that the next try is one.
    telling.catch(() => told.delete(event.id))
    if (told.size > REMEMBERED_MAX) told.delete(told.keys().next().value)
    return telling
  }

  async function answer(request) {
    if (request.method !== 'POST') return 405
    const body = await bodyOf(request)
    if (body === undefined) return 413
    let event
    try {
      event = webhook.verify(body, request.headers)
    } catch {
      return 401
    }
    try {
      await tellOnce(event)
      return 204
    } catch (error) {
      log({ event: 'try_failed', what: 'the mail', id: event.id, code: error.code ?? error.message })
      return 503
    }
  }

  const server = http.createServer(async (request, response) => {
    const status = await answer(request).catch(() => 400)
    response.writeHead(status, { connection: status === 413 ? 'close' : 'keep-alive' }).end()
  })
  server.requestTimeout = 10_000
  await new Promise((listening, failed) => server.once('error', failed).listen(port, host, listening))
  return {
    port: server.address().port,
    close: () => new Promise(closed => server.close(closed)),
  }
}

/** Undefined: too large. */
async function bodyOf(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
