/**
 * Mails buyers about their orders: `node main.mjs feed` reads the feed, `node main.mjs webhook` receives webhooks. Settings come from the
 * environment (README.md). Log lines are JSON with ids and codes, never an address. SIGTERM lets the mail in hand finish.
 */

import { mailFromFeed } from './feed.mjs'
import { createMailer } from './mailer.mjs'
import { receiveWebhooks } from './webhook.mjs'

const { env } = process
const log = line => console.error(JSON.stringify({ time: new Date().toISOString(), ...line }))

function needed(name) {
  const value = env[name] ?? ''
  if (value === '') throw new Error(`${name} is not set`)
  return value
}

async function main(way) {
  const stop = new AbortController()
  const stopped = new Promise(resolve => stop.signal.addEventListener('abort', resolve))
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => stop.abort())
  const mailer = createMailer({
    smtpUrl: needed('SMTP_URL'),
    from: needed('MAIL_FROM'),
    buyersFile: needed('BUYERS_FILE'),
    pageTemplate: needed('ORDER_PAGE'),
    timeZone: env.MAIL_TIME_ZONE || 'UTC',
    log,
  })
  try {
    if (way === 'feed') {
      await mailFromFeed({
        url: needed('STAMPEDE_URL'),
        token: needed('STAMPEDE_TOKEN'),
        cursorFile: needed('CURSOR_FILE'),
        retryMs: Number(env.RETRY_MS || 1_000),
        ...{ mailer, log, signal: stop.signal },
      })
    } else if (way === 'webhook') {
      const { HOST: host = '127.0.0.1', PORT: port = '8090' } = env
      const receiver = await receiveWebhooks({ host, port, secret: needed('STAMPEDE_SECRET'), mailer, log })
      log({ event: 'listening', port: receiver.port })
      await stopped
      await receiver.close()
    } else throw new Error('say which way: feed or webhook')
  } finally {
    mailer.close()
  }
}

try {
  await main(process.argv[2])
} catch (error) {
  log({ event: 'ended', why: error.message })
  process.exitCode = 1
}
