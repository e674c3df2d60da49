/**
 * One event becomes one mail, or none. The mail's Message-ID follows from the event: if the same event is mailed twice, after a crash between
 * sending and remembering, mail programs and servers can see that it is the same mail.
 *
 * `tell` throws when the mail may be sent later (no connection, a busy server, no answer of the shop's directory), with `recipientOnly` set
 * where the server had something against this one recipient. What no second try would change is logged and over.
 */

import { createHash } from 'node:crypto'
import nodemailer from 'nodemailer'
import { findBuyer, orderPage } from './buyers.mjs'
import { noticeOf } from './notices.mjs'

const CONNECTIONS_MAX = 4
/** Below the ten seconds that a webhook has for its answer. */
const SMTP_MS_MAX = 8_000

export function createMailer({ smtpUrl, from, buyersFile, pageTemplate, timeZone, log }) {
  const transport = nodemailer.createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    connectionTimeout: SMTP_MS_MAX,
    greetingTimeout: SMTP_MS_MAX,
    socketTimeout: SMTP_MS_MAX,
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  return {
    /** @returns {Promise<'sent' | 'nothing' | 'refused'>} */
    async tell(event) {
      // Other types are about items and sales: they have no buyer.
      if (!event.type.startsWith('stampede.order.')) return 'nothing'
      const buyer = await findBuyer(event.data.buyer, buyersFile)
      if (buyer === undefined) return 'nothing'
      const page = orderPage(event.data, pageTemplate)
      const notice = noticeOf(event, { language: buyer.language, page, timeZone, nowMs: Date.now() })
      if (notice === undefined) return 'nothing'
      try {
        await transport.sendMail({
          from,
          to: { name: '', address: buyer.address },
          messageId: messageIdOf(event, from),
          headers: { 'Auto-Submitted': 'auto-generated' },
          ...notice,
        })
        return 'sent'
      } catch (error) {
        const { code, command, responseCode } = error
        const isRefused = responseCode >= 500 && (command === 'RCPT TO' || command === 'DATA')
        const isNoAddress = code === 'EENVELOPE' && command === 'API'
        // 450 is about one mailbox; every other 4xx may be the server's own trouble.
        if (!isRefused && !isNoAddress)
          throw Object.assign(error, { recipientOnly: responseCode === 450 && command === 'RCPT TO' })
        // Without the server's words: they often repeat the address.
        log({ event: 'mail_refused', id: event.id, order: event.subject, code: responseCode ?? code })
        return 'refused'
      }
    },
    close: () => transport.close(),
  }
}

/** `id` and `source` name an event for good. */
export function messageIdOf({ id, source }, from) {
  const installation = createHash('sha256').update(source).digest('hex').slice(0, 12)
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost'
  return `<stampede.${id}.${installation}@${domain}>`
}
