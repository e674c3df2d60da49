import { createHmac, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const SECRET = readFileSync('buyer-jwt-secret', 'utf8').trim()
const STAMPEDE = process.env.STAMPEDE_SERVER
const BODY_BYTES_MAX = 4_096
/** Your customers. A real shop has hashes of passwords, and probably a session already. */
const PASSWORDS = { ann: 'tea for ann', ben: 'tea for ben' }

const part = value => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Short: none can be revoked. `sub` is the buyer's id; choose one that says nothing about the person. */
function buyerToken(buyer) {
  const now = Math.floor(Date.now() / 1000)
  const claims = { sub: buyer, iss: 'my-shop', aud: 'stampede', iat: now, exp: now + 900 }
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}

function isRight(name, password) {
  const digest = text => createHmac('sha256', SECRET).update(text).digest()
  return Object.hasOwn(PASSWORDS, name) && timingSafeEqual(digest(password), digest(PASSWORDS[name]))
}

const FORM = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
<form method="post"><label>Name <input name="name" autocomplete="username"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button>Sign in</button></form></html>`

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost')
  const back = URL.parse(url.searchParams.get('back') ?? '')
  if (url.pathname !== '/sign-in') return response.writeHead(404).end()
  // Without this check the page would send tokens to anyone who asks.
  if (back?.origin !== STAMPEDE) return response.writeHead(400).end('back leads to another site')
  if (request.method !== 'POST') return response.writeHead(200, { 'content-type': 'text/html' }).end(FORM)
  let body = ''
  for await (const chunk of request) {
    body += chunk
    if (body.length > BODY_BYTES_MAX) return response.writeHead(413, { connection: 'close' }).end()
  }
  const typed = new URLSearchParams(body)
  const name = typed.get('name') ?? ''
  if (!isRight(name, typed.get('password') ?? ''))
    return response.writeHead(401, { 'content-type': 'text/html' }).end(FORM)
  response.writeHead(303, { location: `${back.href}#token=${buyerToken(name)}` }).end()
}).listen(4000, '127.0.0.1', () => console.log('the shop is at url: http://localhost:4000'))
