/**
 * Alerts by e-mail, over SMTP: TLS from the beginning (smtps) or STARTTLS, which is demanded unless the server is on this machine or the setting
 * allows plain text; a password never travels without TLS. One connection for each message; the whole try ends in time. Does not keep messages.
 */

import { createHash } from 'node:crypto'
import nodemailer from 'nodemailer'
import { alertText } from '../alert-text.ts'
import type { AlertChannel, AlertMessage, Told } from '../channel.ts'

export interface MailServer {
  readonly host: string
  readonly port: number
  /** From the first byte; else by STARTTLS. */
  readonly secure: boolean
  /** May the message travel without TLS, if the server has none? */
  readonly plain: boolean
  readonly user: string | undefined
  readonly password: string | undefined
}

interface MailChannelOptions {
  readonly server: MailServer
  readonly from: string
  readonly to: readonly string[]
  /** For one try. */
  readonly timeoutMs: number
  /** A certificate authority to trust beside those of the system. */
  readonly ca: string | undefined
}

/** Of a server's words so much is kept. */
const WHY_LENGTH_MAX = 200

export function createMailChannel({ server, from, to, timeoutMs, ca }: MailChannelOptions): AlertChannel {
  const { host, port, secure, plain, user, password } = server
  const mayBePlain = plain && password === undefined

  async function send(message: AlertMessage, signal: AbortSignal): Promise<Told> {
    const { subject, body } = alertText(message)
    const transport = nodemailer.createTransport({
      host,
      port,
      secure,
      requireTLS: !secure && !mayBePlain,
      ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
      ...(ca !== undefined && { tls: { ca } }),
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const aborted = Promise.withResolvers<Told>()
    const abort = () => aborted.resolve({ kind: 'failed', why: 'No answer in time.' })
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    const sent = transport
      .sendMail({
        from,
        to: [...to],
        subject,
        text: body,
        messageId: messageIdOf(message, from),
        headers: { 'Auto-Submitted': 'auto-generated' },
      })
      .then(
        // Some have it: sent again, they would have it twice.
        ({ rejected }): Told =>
          rejected.length === 0
            ? { kind: 'told' }
            : { kind: 'told', but: `The server takes no mail for ${rejected.length} of ${to.length} addresses.` },
        (error: unknown): Told => ({ kind: 'failed', why: whyOf(error, password) }),
      )
    try {
      return await Promise.race([sent, aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
      transport.close()
    }
  }

  return { name: 'email', send }
}

/** The same in every try, so that a mail program shows a repeated one once. */
function messageIdOf({ id }: AlertMessage, from: string): string {
  const domain = /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'stampede.invalid'
  return `<stampede.alert.${createHash('sha256').update(id).digest('hex').slice(0, 24)}@${domain}>`
}

/** For people; a server that repeats the password does not make us print it. */
function whyOf(error: unknown, password: string | undefined): string {
  const text = error instanceof Error ? error.message : String(error)
  const safe = password === undefined ? text : text.replaceAll(password, '[hidden]')
  return safe.replace(/[\s\p{C}]+/gu, ' ').slice(0, WHY_LENGTH_MAX)
}
