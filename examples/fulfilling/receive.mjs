import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { take } from './shelf.mjs'

const { STAMPEDE_SERVER: server, PARCELS_TOKEN: token } = process.env
const key = Buffer.from(JSON.parse(readFileSync('webhook.json', 'utf8')).secret.replace('whsec_', ''), 'base64')
const BODY_BYTES_MAX = 64 * 1024
const LATE_S_MAX = 300

function isSigned({ headers }, body) {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given = '' } = headers
  if (Math.abs(Date.now() / 1000 - Number(at)) > LATE_S_MAX) return false
  const own = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest()
  return given.split(' ').some(one => {
    const theirs = Buffer.from(one.replace('v1,', ''), 'base64')
    return theirs.length === own.length && timingSafeEqual(theirs, own)
  })
}

createServer(async (request, response) => {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return response.writeHead(413, { connection: 'close' }).end()
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks).toString('utf8')
  if (!isSigned(request, body)) return response.writeHead(401).end()
  try {
    const { subject } = JSON.parse(body)
    const answer = await fetch(`${server}/api/admin/orders/${subject}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    if (!answer.ok) throw new Error(`the order can't be read: ${answer.status}`)
    take(await answer.json())
    response.writeHead(204).end()
  } catch (error) {
    // Not taken: Stampede sends it again.
    console.error(error.message)
    response.writeHead(503).end()
  }
}).listen(4000, '127.0.0.1', () => console.log('webhooks are received at url: http://127.0.0.1:4000'))
